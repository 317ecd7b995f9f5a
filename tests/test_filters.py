from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from report_values import NVLINK, PTXAS, STRADDLING, sass

from ltocompat.model.arch import ArchForm, SmArch
from ltocompat.model.errors import UsageError
from ltocompat.model.image import Producer, Role
from ltocompat.model.location import Location
from ltocompat.scan.filters import ImageFilter

PLACE = Location("a.so")
ARCHS = st.builds(
    SmArch, st.sampled_from([80, 90]), st.sampled_from(["", "a"]), st.sampled_from(ArchForm)
)


def made_by(text: str, *makers: Producer) -> bool:
    return ImageFilter.parse(made_by=[text]).matches(sass(PLACE, made_by=makers))


@pytest.mark.parametrize("wanted", ["13.4", "13", "compiler"])
def test_a_set_of_releases_matches_each_of_them(wanted: str) -> None:
    assert made_by(wanted, STRADDLING)


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        ("13.0", True),
        ("13.0.88", True),
        ("13.0.8", False),
        ("13.1", False),
        ("1", False),
        ("ptxas", True),
        ("NVLINK", True),
        ("linker", True),
        ("finalizer", False),
        ("unknown", False),
    ],
)
def test_any_maker_may_match_by_version_tool_or_role(wanted: str, *, matches: bool) -> None:
    assert made_by(wanted, PTXAS, NVLINK) is matches


def test_a_release_is_no_prefix_of_another() -> None:
    assert not made_by("12.4", Producer(Role.COMPILER, None, "12.40.1", (), "x"))


def test_unknown_matches_what_nobody_is_known_to_have_made() -> None:
    assert made_by("unknown")


def test_the_sorts_must_all_hold() -> None:
    where = ImageFilter.parse(kinds=["sass"], archs=["80"], made_by=["13.0"])
    assert where.matches(sass(PLACE))
    assert not where.matches(sass(PLACE, "sm_86"))
    assert not where.matches(sass(PLACE, made_by=()))


@given(
    st.sampled_from([*ArchForm, None]), st.booleans(), st.sampled_from(["80", "90", "90a"]), ARCHS
)
def test_an_architecture_is_any_form_of_its_number_or_the_one_that_is_written(
    form: ArchForm | None, bare: bool, number: str, arch: SmArch
) -> None:
    text = f" {form or ''}{'' if bare or form is None else '_'}{number}"
    where = ImageFilter.parse(archs=["120", text])
    same = f"{arch.number}{arch.suffix}" == number and form in (None, arch.form)
    assert where.matches(replace(sass(PLACE), arch=arch)) == same
    assert not where.matches(replace(sass(PLACE), arch=None))


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({"kinds": ["cubin"]}, "ltoir, ptx, sass, tileir, unknown"),
        ({"kinds": [""]}, "ltoir, ptx, sass, tileir, unknown"),
        ({"archs": ["hopper"]}, "sm_90a"),
        ({"archs": ["80,"]}, "sm_90a"),
        ({"made_by": ["12.x"]}, "12.4"),
        ({"made_by": [""]}, "12.4"),
    ],
)
def test_a_value_without_meaning_is_refused_and_the_valid_ones_are_named(
    values: dict[str, list[str]], names: str
) -> None:
    with pytest.raises(UsageError, match=names):
        ImageFilter.parse(**values)
