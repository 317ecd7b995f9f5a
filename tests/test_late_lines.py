"""The reasoning behind a verdict is put into words when it is read, as a tuple is read."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

from ltocompat.model.late_lines import LateLines

LINES = ("1 module: ok", "2 modules: fail")


def late(built: list[str]) -> LateLines:
    def build() -> Iterator[str]:
        built.append("built")
        yield from LINES

    return LateLines(build)


def test_sentences_are_built_once_and_only_when_they_are_read() -> None:
    built: list[str] = []
    lines = late(built)
    assert not built
    assert [*lines] == [*lines] == [*LINES]
    assert (lines[1], lines[:1], len(lines)) == (LINES[1], LINES[:1], 2)
    assert built == ["built"]


def test_late_sentences_are_equal_to_the_tuple_of_them_also_as_a_key_and_pickled() -> None:
    assert late([]) == LINES
    assert late([]) == late([])
    assert late([]) != LINES[:1]
    assert {LINES: "known"}[late([])] == "known"  # type: ignore[index]  # the key is equal
    assert pickle.loads(pickle.dumps(late([]))) == LINES  # noqa: S301 - our own
    assert repr(late([])) == repr(LINES)
