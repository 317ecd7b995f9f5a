"""Lines of ``require`` beside the metadata of a package: they never admit more than those do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from packages_made import CUBIN_13_5, LTOIR_13_5, conda, wheel
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from report_values import written
from samples import FOLDER
from verdict_values import required

from ltocompat import read, require
from ltocompat.cli import run
from ltocompat.model.limits import DEFAULT_LIMITS
from ltocompat.model.requirement import PasteLine
from ltocompat.packages.values import Dependency, Kind, Package
from ltocompat.report import Options
from ltocompat.report.verbs.require import REPORT
from ltocompat.rules.engine.metadata_lines import beside_metadata

CODE = {"libx/x.ltoir": LTOIR_13_5, "libx/x.cubin": CUBIN_13_5}
NEEDED = "nvidia-nvjitlink>=13.5,<14"
VERSIONS = [
    f"{major}.{minor}.{patch}" for major in (12, 13, 14) for minor in range(10) for patch in (0, 37)
]


def lines(path: Path, where: str) -> list[PasteLine]:
    (found,) = require(path.read_bytes())
    (read_once,) = read(path)
    assert read_once.require().lines == found.lines
    return [line for line in found.lines if line.where == where]


@pytest.mark.parametrize(
    ("requires", "text", "met"),
    [
        (["nvidia-nvjitlink==13.5.37"], "nvidia-nvjitlink==13.5.37", True),
        (["cuda-toolkit[nvjitlink]==13.5.*"], "cuda-toolkit[nvjitlink]==13.5.*", True),
        (["nvidia-nvjitlink~=13.5; extra=='lto'"], "nvidia-nvjitlink~=13.5; extra=='lto'", True),
        (["nvidia-nvjitlink>=13.6"], "nvidia-nvjitlink>=13.6,<14", False),
        (["nvidia-nvjitlink>=13.0,!=13.5.12"], f"{NEEDED},!=13.5.12", False),
        (["nvidia-nvjitlink"], NEEDED, False),
        (["nvidia-nvjitlink==13.0.*"], NEEDED, False),  # nothing is both
        (["nvidia-nvjitlink-cu12>=12.4"], NEEDED, False),
        (["nvidia-nvjitlink===13_rc", "nvidia-nvjitlink>=1" + "0" * 5000], NEEDED, False),
        (["numpy>=2"], NEEDED, False),
    ],
)
def test_a_wheel(tmp_path: Path, requires: Sequence[str], text: str, met: bool) -> None:
    (line,) = lines(wheel(tmp_path, CODE, requires, extras=["lto"]), "pip")
    assert (line.text, line.met) == (text, met)
    assert not met or NEEDED in line.note
    Requirement(line.text)


@pytest.mark.parametrize("line", ["nvidia-nvjitlink==13.5.37", "cuda-toolkit[nvjitlink]==13.5.*"])
def test_the_headline_names_the_linker_to_install_whoever_brings_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    assert run(["require", str(wheel(tmp_path, CODE, [line]))]) == 0
    assert f"links need {NEEDED}" in capsys.readouterr().out


def test_a_conda_package(tmp_path: Path) -> None:
    depends = ["libnvjitlink >=13.5.37,<14.0a0", "__cuda >=12.9,<14"]
    found = lines(conda(tmp_path, CODE, depends, ["__cuda_arch >=9.0"]), "conda")
    assert [(line.text, line.met) for line in found] == [
        ("libnvjitlink >=13.5.37,<14.0a0", True),
        ("__cuda >=13.0,<14", False),
        ("__cuda_arch >=9.0", True),
    ]


def test_variant_properties_keep_a_higher_bound(tmp_path: Path) -> None:
    variant = b'{"variants": {"x": {"nvidia": {"cuda_version_lower_bound": ["13.2"]}}}}'
    path = wheel(tmp_path, {**CODE, "libx-1.0.dist-info/variant.json": variant})
    assert lines(path, "variant")[0].text == "nvidia :: cuda_version_lower_bound :: 13.2"


def test_what_stands_there_is_told_and_not_printed_again() -> None:
    line = PasteLine("pip", "nvidia-nvjitlink==13.5.37", f"the code needs {NEEDED}", met=True)
    answer = required(lines=(line,))
    table = written("table", REPORT, [answer])
    assert f"in its metadata already:\n  {line.text}" in table
    pasted = written("table", REPORT, [answer], Options(paste_for="pip"))
    assert all(each.startswith("#") for each in pasted.splitlines())


BOUND = st.builds(
    "{}{}".format, st.sampled_from([">=", ">", "<", "<=", "!="]), st.sampled_from(VERSIONS)
)


@given(st.lists(BOUND, min_size=1, max_size=3))
def test_a_line_admits_what_both_the_code_and_the_metadata_admit(bounds: list[str]) -> None:
    theirs, ours = SpecifierSet(",".join(bounds)), SpecifierSet(Requirement(NEEDED).specifier)
    both = {version for version in VERSIONS if version in theirs and version in ours}
    assume(both)
    dependency = Dependency(
        "nvidia-nvjitlink", (str(theirs),), f"Requires-Dist: nvidia-nvjitlink{theirs}"
    )
    package = Package(kind=Kind.WHEEL, path="x.whl", name="x", requires=(dependency,))
    answer = required(lines=(PasteLine("pip", NEEDED),))
    (line,) = beside_metadata(answer, package, DEFAULT_LIMITS).lines
    assert {v for v in VERSIONS if v in Requirement(line.text).specifier} == both


def test_a_gate_of_architectures_alone_says_how_to_see_what_the_metadata_lack(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No target is named, so that no ``check`` could show it."""
    monkeypatch.chdir(tmp_path)
    name = wheel(tmp_path, CODE, ["nvidia-nvjitlink>=13.0,<14"]).name
    command = ["audit", name, "--require-archs", "sm_80,lto_80"]
    assert run([*command, "--fail-on", "unknown"]) == 1
    out = capsys.readouterr().out
    assert "NJL-06" in out
    assert f"to see only this file: ltocompat audit {name}\n" in out
    run(["audit", name, "--fail-on", "unknown"])
    assert "NJL-06" in capsys.readouterr().out


def test_the_lines_of_several_packages_allow_no_more_than_the_metadata_of_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    paths = []
    for folder, requires in zip(folders, ("nvidia-nvjitlink>=13.6", "numpy>=2"), strict=True):
        folder.mkdir()
        paths.append(str(wheel(folder, CODE, [requires])))
    assert run(["require", *paths, "--for", "pip"]) == 0
    found = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    assert found == ["nvidia-nvjitlink>=13.6,<14"]


@pytest.mark.parametrize(("name", "windows"), [("saxpy.dll", True), ("libsaxpy.so", False)])
def test_a_library_for_windows_asks_for_no_container_and_says_whose_drivers_it_names(
    name: str, windows: bool
) -> None:
    (found,) = require(FOLDER / "objects" / name)
    assert ("container" in {line.where for line in found.lines}) is not windows
    (conda,) = (line for line in found.lines if line.text.startswith("__cuda >="))
    assert ("driver R580 or newer" in conda.note) is windows
