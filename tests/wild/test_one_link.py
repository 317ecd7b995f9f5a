"""``--together --trial-link`` hands all inputs to one real link, whose answer is the verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

import ltocompat
from ltocompat.model.verdict import Result

pytestmark = pytest.mark.wild

DATA = Path(__file__).parent.parent / "data"
LINKERS = ("12.4", "13.0", "13.5")


def checked(*paths: Path, linker: str, together: bool = True) -> list[Result]:
    return list(
        ltocompat.check(
            [str(path) for path in paths],
            [f"nvjitlink={linker},gpu=sm_80"],
            together=together,
            trial_link=True,
            install_linkers=True,
        )
    )


def told(result: Result) -> set[str]:
    return {finding.rule for finding in result.findings if finding.verdict.name == "FAIL"}


@pytest.fixture
def definition(tmp_path: Path) -> Path:
    """PTX that defines the function that ``absent-function.ltoir`` calls."""
    path = tmp_path / "defined.ptx"
    path.write_text(
        ".version 8.0\n.target sm_75\n.address_size 64\n"
        ".visible .func (.param .b32 r) absent(.param .b32 x)\n"
        "{\n .reg .f32 %f<2>;\n ld.param.f32 %f1, [x];\n st.param.f32 [r], %f1;\n ret;\n}\n",
        "ascii",
    )
    return path


@pytest.mark.parametrize("linker", LINKERS)
def test_a_function_that_no_ltoir_defines_fails_the_link_and_no_fragment(
    linker: str, definition: Path
) -> None:
    calls = DATA / "absent-function.ltoir"
    (alone,) = checked(calls, linker=linker, together=False)
    assert not told(alone)
    (incomplete,) = checked(calls, linker=linker)
    assert told(incomplete) == {"TRIAL"}
    (complete,) = checked(calls, definition, linker=linker)
    assert not told(complete)


@pytest.mark.parametrize("linker", LINKERS)
def test_two_definitions_in_ltoir_fail_the_link(linker: str) -> None:
    calls = DATA / "absent-variable.ltoir"
    (result,) = checked(calls, calls, linker=linker)
    assert told(result) == {"TRIAL"}


OBJECTS = DATA.parent.parent / "sample_artifacts" / "objects"


def device_linked(*names: str) -> Result:
    (result,) = ltocompat.check(
        [OBJECTS / name for name in names],
        ["nvlink=13.5,gpu=sm_80"],
        together=True,
        trial_link=True,
        install_linkers=True,
    )
    return result


def test_nvlink_gets_all_objects_of_a_device_link() -> None:
    complete = device_linked("nvcc-13.5-rdc-axpy.o", "nvcc-13.5-rdc-scale.o")
    assert not told(complete)
    assert told(device_linked("nvcc-13.5-rdc-axpy.o")) == {"BLD-10"}
    assert told(device_linked("nvcc-13.5-lto.o")) == {"TRIAL"}
    with_ltoir = device_linked("nvcc-13.5-lto.o", "nvcc-13.5-rdc-scale.o")
    assert not told(with_ltoir)
    assert "symbols" not in with_ltoir.not_judged
