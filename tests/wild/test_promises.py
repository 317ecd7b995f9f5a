"""Real wheels as they were uploaded: what their metadata promises, and what is inside.

Each expectation was read by hand: METADATA with unzip, libraries with readelf, strings and ldd, and
LTO-IR with plain calls of nvJitLink 13.3.33, which refuses that of cuSPARSE 12.9.4.2 (14, "may need
newer version"), and 13.4.92, which reads it.
"""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
import readme
import wheels
from packages_made import judged, metadata, told

from ltocompat.cli import run
from ltocompat.model.verdict import Verdict
from ltocompat.packages.reading import package_of
from ltocompat.packages.values import Package
from ltocompat.rules.rule import Problem

pytestmark = pytest.mark.wild

FAIL, UNKNOWN, OK = Verdict.FAIL, Verdict.UNKNOWN, Verdict.OK
UNDOCUMENTED = Verdict.UNDOCUMENTED
LIBCUVS = "libcuvs-cu13==26.10.0"
CUSPARSE = "nvidia-cusparse==12.9.4.2"
LIBMATHDX = "nvidia-libmathdx-cu12==0.3.1.9"


def wheel_of(requirement: str) -> Path:
    name, version = requirement.split("==")
    wheels.member(requirement, f"{name.replace('-', '_')}-{version}.dist-info/METADATA")
    (found,) = (wheels.CACHE / requirement.replace("==", "-")).glob("*.whl")
    return found


def only(problems: tuple[Problem, ...], rule: str) -> Problem:
    (found,) = [problem for problem in problems if problem.rule == rule]
    return found


def read(path: Path) -> Package:
    found = package_of(str(path))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        # DT_NEEDED libnvJitLink.so.13, imports up to _13_3, <14,>=13.3; the LTO-IR (container 1.67)
        # is of 13.3, 13.4 or 13.5, and all SASS is of 13.3: a trial says that the LTO-IR is, too.
        (LIBCUVS, {"NJL-06": OK}),
        # Opens libnvJitLink.so.13, LTO-IR of container 1.67, bare nvidia-nvjitlink.
        (CUSPARSE, {"NJL-06": FAIL, "PKG-02": UNDOCUMENTED}),
        # The same with LTO-IR of 12.4 or 12.5, which every nvJitLink 13 links; opens
        # libnvrtc.so.13.
        ("nvidia-cufft==12.5.0.14", {"PKG-01": OK, "PKG-02": UNDOCUMENTED}),
        # Imports __nvJitLinkAddData_12_9 and takes any nvJitLink 12; 8 modules of CUTLASS hold PTX
        # 8.8 alone for sm_70 to sm_89 (cuobjdump), which cuSPARSE asks for where it chooses them.
        ("nvidia-cusparse-cu12==12.5.10.65", {"NJL-06": FAIL}),
        # Opens libnvrtc.so.13, bare nvidia-cuda-nvrtc.
        ("nvidia-cublas==13.10.0.20", {"PKG-02": UNDOCUMENTED}),
        # DT_NEEDED libnvrtc.so.12 from cuda-toolkit[nvrtc]==12.*, RUNPATH /usr/local/cuda/lib64:
        # ldd says "not found". Its LTO-IR is for whoever calls it. The RUNPATH ends in a colon.
        (LIBMATHDX, {"PKG-01": OK, "PKG-07": UNKNOWN, "PKG-14": UNDOCUMENTED}),
    ],
)
def test_wheels_as_uploaded(requirement: str, expected: dict[str, Verdict]) -> None:
    assert told(judged(wheel_of(requirement))) == expected


def test_libraries_of_cupy_come_with_an_extra() -> None:
    """Libraries of the extra ctk are loaded before by cuda-pathfinder; two more are in no extra."""
    problems = judged(wheel_of("cupy-cuda13x==14.2.0"))
    assert {(problem.rule, problem.verdict) for problem in problems} == {
        ("PKG-01", UNKNOWN),
        ("PKG-01", OK),
        ("PKG-07", OK),
    }
    extra = {problem.message.split()[2] for problem in problems if "extra ctk" in problem.message}
    (none,) = (problem.message for problem in problems if problem.verdict is UNKNOWN)
    assert {name.partition(".")[0] for name in extra} == {
        "libcublas",
        "libcufft",
        "libcurand",
        "libcusolver",
        "libcusparse",
        "libnvrtc",
    }
    assert "its libraries need libcutensor 2, libnccl 2 of CUDA, but no dependency" in none


def test_the_right_line_of_cusparse_is_printed() -> None:
    low = only(judged(wheel_of(CUSPARSE)), "NJL-06")
    assert low.evidence == "Requires-Dist: nvidia-nvjitlink"
    assert low.remedy == (
        "write Requires-Dist: nvidia-nvjitlink>=13.5,<14, unless a trial link shows that 13.3 is "
        "enough"
    )


def test_cusparse_of_the_incidents_is_found() -> None:
    """pytorch issue 131312: undefined symbol: __nvJitLinkComplete_12_4, with an older nvJitLink."""
    low = only(judged(wheel_of("nvidia-cusparse-cu12==12.3.1.170")), "NJL-06")
    assert low.verdict is FAIL
    assert (
        "the metadata allows nvidia-nvjitlink-cu12 12.0, "
        "but libcusparse.so.12 imports __nvJitLinkAddData_12_4" in low.message
    )
    assert low.remedy == "write Requires-Dist: nvidia-nvjitlink-cu12>=12.4,<13"


def test_a_trial_makes_the_line_of_cusparse_exact() -> None:
    low = only(judged(wheel_of(CUSPARSE), trial=True), "NJL-06")
    assert low.verdict is FAIL
    assert low.remedy == "write Requires-Dist: nvidia-nvjitlink>=13.4,<14"


def test_a_trial_finds_nothing_wrong_with_libcuvs() -> None:
    assert judged(wheel_of(LIBCUVS), trial=True) == ()


def test_the_policy_of_the_readme_passes_libcuvs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its 1,549 pieces of LTO-IR may be of 13.3, 13.4 or 13.5; nvJitLink 13.3 takes them all."""
    path = str(wheel_of(LIBCUVS).resolve())
    (tmp_path / "pyproject.toml").write_text(readme.policy(), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert run(["audit", path, "--install-linkers"]) == 0
    assert capsys.readouterr().out.startswith(f"audit passed: {path}; policy pyproject.toml\n")


def test_without_a_policy_cusparse_fails_and_libcuvs_passes_as_with_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cusparse, libcuvs = (str(wheel_of(text).resolve()) for text in (CUSPARSE, LIBCUVS))
    monkeypatch.chdir(tmp_path)
    assert run(["audit", cusparse]) == 1
    assert "; NJL-06 in" in capsys.readouterr().out.splitlines()[0]
    assert run(["audit", libcuvs]) == 0
    assert run(["audit", libcuvs, "--trial-link", "--install-linkers"]) == 0


def test_cuda_toolkit_13_5_corrects_the_line_of_cusparse() -> None:
    """NVIDIA's own answer: its extra cusparse asks for nvidia-nvjitlink<14,>=13.5.37."""
    dependencies = [
        require
        for require in read(wheel_of("cuda-toolkit==13.5.0")).requires
        if "jit" in require.name
    ]
    (line,) = [
        dependency
        for dependency in dependencies
        if dependency.marker.endswith('extra == "cusparse"')
    ]
    assert (line.name, set(line.versions[0].split(","))) == (
        "nvidia-nvjitlink",
        {"<14", ">=13.5.37"},
    )
    assert read(wheel_of(CUSPARSE)).requires[0].versions == ("",)


@pytest.mark.skipif(shutil.which("ldd") is None, reason="needs ldd")
def test_the_loader_does_not_find_nvrtc_for_libmathdx(tmp_path: Path) -> None:
    """In site-packages as pip makes it, with NVRTC where its wheel puts it."""
    with zipfile.ZipFile(wheel_of(LIBMATHDX)) as archive:
        archive.extract("nvidia/cu12/lib/libmathdx.so.0", tmp_path)
    stub = tmp_path / "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
    stub.parent.mkdir(parents=True)
    stub.touch()
    text = subprocess.run(
        ["ldd", tmp_path / "nvidia/cu12/lib/libmathdx.so.0"],  # noqa: S607 - the system's own
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    if "/usr/local/cuda" not in text:
        assert "libnvrtc.so.12 => not found" in text


@pytest.fixture(scope="module")
def members() -> dict[str, bytes]:
    """The libraries of libcuvs; its headers are left out."""
    with zipfile.ZipFile(wheel_of(LIBCUVS)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if ".so" in name}


def repacked(
    folder: Path,
    members: dict[str, bytes],
    *,
    line: str = "nvidia-nvjitlink<14,>=13.3",
    tag: str = "manylinux_2_28_x86_64",
    name: str = "libcuvs-cu13",
) -> Path:
    stem = f"{name.replace('-', '_')}-26.10.0"
    path = folder / f"{stem}-py3-none-{tag}.whl"
    requires = [
        "cuda-toolkit[cublas,curand,cusolver,cusparse,nvrtc]==13.*",
        "nvidia-nccl-cu13>=2.19",
        line,
    ]
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
        archive.writestr(f"{stem}.dist-info/METADATA", metadata(name, "26.10.0", requires))
    return path


def test_libcuvs_with_a_wrong_pin(tmp_path: Path, members: dict[str, bytes]) -> None:
    problems = judged(repacked(tmp_path, members, line="nvidia-nvjitlink==13.2.78"))
    assert told(problems) == {"NJL-06": FAIL, "PKG-03": UNDOCUMENTED}
    assert "13.2, but" in only(problems, "NJL-06").message


def test_libcuvs_with_a_wrong_tag(tmp_path: Path, members: dict[str, bytes]) -> None:
    problems = judged(repacked(tmp_path, members, tag="manylinux_2_28_aarch64"))
    assert told(problems) == {"NJL-06": OK, "PKG-06": FAIL}
    assert only(problems, "PKG-06").remedy == "tag it manylinux_2_28_x86_64"


def test_libcuvs_with_a_wrong_name(tmp_path: Path, members: dict[str, bytes]) -> None:
    problems = judged(repacked(tmp_path, members, name="libcuvs-cu12"))
    assert {problem.rule for problem in problems} == {"NJL-06", "PKG-05"}
    worst = next(each_problem for each_problem in problems if each_problem.rule == "PKG-05")
    assert worst.verdict is FAIL
    assert worst.remedy == "call it libcuvs-cu13, or build it with CUDA 12"
