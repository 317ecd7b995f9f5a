"""Places can be pasted into a shell and read back."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltocompat import Location, UsageError

NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0/"), min_size=1, max_size=12
)
PLACES = st.builds(
    Location,
    path=NAMES.filter(lambda name: name not in ("-", ".", "..")),
    members=st.lists(NAMES, max_size=2).map(tuple),
    offset=st.none() | st.integers(0, 1 << 40),
    entry=st.just(()),
)


@given(PLACES, st.lists(st.integers(0, 99), max_size=2))
def test_what_is_written_is_read_back(place: Location, entry: list[int]) -> None:
    if place.offset is not None:
        place = place.at(place.offset, *entry)
    assert Location.parse(str(place)) == place


def test_names_of_windows_are_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "getfilesystemencodeerrors", lambda: "surrogatepass")
    place = Location("x", ("a\ud800b", "a\udcffb", "a\N{SNOWMAN}b c"))
    assert str(place).isprintable()
    assert Location.parse(str(place)) == place


@given(PLACES)
def test_no_shell_takes_a_place_apart(place: Location) -> None:
    assert shlex.split(str(place), comments=True) == [str(place)]
    assert str(place).isprintable()


@given(NAMES, st.lists(NAMES, max_size=2).map(tuple))
def test_a_reader_sees_the_path_as_it_is(path: str, members: tuple[str, ...]) -> None:
    place, inside = Location(path, members, 0x40), Location("x", members, 0x40)
    assert place.shown == path + str(inside).removeprefix("x")
    assert Location(path).shown == path


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("libx.a::m.o@0x1f40.3", Location("libx.a", ("m.o",), 0x1F40, (3,))),
        ("x.so@0x40", Location("x.so", (), 0x40)),
        ("x.fatbin@0x0.1.2", Location("x.fatbin", (), 0, (1, 2))),
        ("a::b::c", Location("a", ("b", "c"))),
        ("user@0xhost", Location("user@0xhost")),
        ("-", Location("-")),
    ],
)
def test_spellings(text: str, place: Location) -> None:
    assert Location.parse(text) == place


def test_a_file_of_that_whole_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a::b@0x40").touch()
    assert Location.parse("a::b@0x40") == Location("a::b@0x40")


def test_nothing_is_no_place() -> None:
    with pytest.raises(UsageError, match="empty path"):
        Location.parse("")
