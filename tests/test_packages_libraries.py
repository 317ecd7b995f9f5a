"""PKG-01, 02, 04 and 07 for libraries of CUDA, PKG-14 for RUNPATH: on made wheels, both systems."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from every_case import every
from hypothesis import example, given, settings
from hypothesis import strategies as st
from libraries_made import build, needs_gcc
from packages_made import conda, debian, judged, library, metadata, rpm, told, wheel
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from rule_cases import spares, strikes
from test_hosts_windows import image

from ltocompat.facts.libraries import rows_of
from ltocompat.model.limits import DEFAULT_LIMITS
from ltocompat.model.verdict import Verdict
from ltocompat.packages.reading import package_of
from ltocompat.packages.resolved import resolved_packages
from ltocompat.packages.values import Package
from ltocompat.rules.rule import Problem

FAIL, UNKNOWN, OK = Verdict.FAIL, Verdict.UNKNOWN, Verdict.OK
UNDOCUMENTED = Verdict.UNDOCUMENTED
WINDOWS = "py3-none-win_amd64"
PLACE = "libx/lib64/libx.so"
# What leads from there to each folder.
LEADS = (
    "$ORIGIN/../../nvidia/cublas/lib:$ORIGIN/../../nvidia/cu13/lib:$ORIGIN/../../nvidia/cudnn/lib"
)
pytestmark = needs_gcc


@functools.cache
def _needing(needs: tuple[str, ...], runpath: str | None) -> bytes:
    with TemporaryDirectory() as folder:
        return library(Path(folder), needs=needs, runpath=runpath)


def needing(*needs: str, runpath: str | None = LEADS) -> bytes:
    """A library that needs others."""
    return _needing(needs, runpath)


def of(folder: Path, needs: str, *requires: str, **options: object) -> tuple[Problem, ...]:
    """The problems of a wheel with one library that needs another."""
    members = {PLACE: needing(needs)}
    return judged(wheel(folder, members, requires, **options))  # type: ignore[arg-type]


def dll(name: str) -> bytes:
    """Needs this library, and nvJitLink."""
    wanted = name.encode()
    assert len(wanted) == len(b"cudart64_12.dll")
    return image().replace(b"cudart64_12.dll", wanted)


@every(
    "case",
    [
        ("libcublas.so.12", "nvidia-cublas-cu12", {}),
        ("libcublas.so.12", "nvidia-cublas-cu12>=12.4,<13", {}),
        ("libcublas.so.12", "nvidia-cudnn-cu12>=9", {}),  # which brings cuBLAS
        ("libcublas.so.12", "cuda-toolkit[cublas]==12.*", {}),
        ("libcublas.so.13", "cuda-toolkit[cusolver]>=13,<14", {}),
        ("libcublas.so.13", "nvidia-cublas>=13,<14", {}),
        ("libcublas.so.13", "nvidia-cublas", {"PKG-02": UNDOCUMENTED}),
        ("libcublas.so.13", "nvidia-cublas>=14", {"PKG-02": UNDOCUMENTED}),
        ("libcublas.so.13", "nvidia-cublas>=99", {}),
        ("libcublas.so.12", "nvidia-cublas>=13", {"PKG-04": FAIL}),
        ("libcublas.so.13", "nvidia-cublas-cu12", {"PKG-04": FAIL}),
        ("libcublas.so.12", "cuda-toolkit[cublas]>=13,<14", {"PKG-04": FAIL}),
        ("libcublas.so.12", "nvidia-cuda-runtime-cu12", {"PKG-01": FAIL}),
        ("libcublas.so.12", "cuda-toolkit[cudart]==12.*", {"PKG-01": FAIL}),
        ("libcublas.so.12", "numpy", {"PKG-01": UNKNOWN}),
        ("libcublas.so.12", "cupy-cuda11x", {"PKG-01": OK}),  # of which nobody has read
        ("libcublas.so.12", "cupy-cuda12x", {"PKG-01": UNKNOWN}),
        ("libcublas.so.12", "cupy-cuda12x[ctk]", {"PKG-01": OK}),
        ("libcusparse.so.9.2", "nvidia-cusparse-cu12", {"PKG-01": FAIL}),
        ("libcusparse.so.9.2", "numpy", {"PKG-01": UNKNOWN}),
        ("libcublas.so.12", "libx-core", {"PKG-01": UNKNOWN}),  # of the same project
        ("libcublas.so.12", "torch", {"PKG-01": FAIL}),
        ("libcudnn.so.9", "nvidia-cudnn-cu12>=9", {}),
        ("libcudnn.so.9", "nvidia-cudnn-cu12", {"PKG-02": UNDOCUMENTED}),
        ("libcudnn.so.9", "nvidia-cudnn-cu12==9.1.0.70", {}),
        ("libcudnn.so.9", "nvidia-cudnn-cu12<9", {"PKG-04": FAIL}),
        ("libcudnn.so.8", "nvidia-cudnn-cu12~=9.1", {"PKG-04": FAIL}),
        ("libcudnn.so.9", "nvidia-cudnn-cu12>99", {}),  # of which nobody knows the files
        ("libcudnn.so.9", "nvidia-cudnn-cu12===custom-build", {}),  # === takes any text
        ("libz.so.1", "numpy", {}),
        ("libcuda.so.1", "numpy", {}),  # comes with the driver
        ("libcublas-6b43fd57.so.12", "numpy", {}),  # a copy of its own
    ],
)
def test_what_metadata_bring_is_held_against_what_loaders_need(
    tmp_path: Path, case: tuple[str, str, dict[str, Verdict]]
) -> None:
    needs, requires, expected = case
    assert told(of(tmp_path, needs, requires)) == expected


@every(
    "case",
    [
        ("cublas64_12.dll", "nvidia-cublas-cu12", {}),
        ("CUBLAS64_12.DLL", "nvidia-cublas-cu12", {}),
        ("CUBLAS64_12.DLL", "nvidia-cuda-runtime-cu12", {"PKG-01": FAIL}),
        ("cublas64_12.dll", "nvidia-cublas", {"PKG-04": FAIL}),
        ("cublas64_13.dll", "nvidia-cublas>=13,<14", {}),
        ("cublas64_13.dll", "nvidia-cuda-runtime", {"PKG-01": FAIL}),
        ("cusolver_12.dll", "nvidia-cuda-runtime", {}),  # no name of NVIDIA's
    ],
)
def test_windows_is_held_to_its_own_names(
    tmp_path: Path, case: tuple[str, str, dict[str, Verdict]]
) -> None:
    needs, requires, expected = case
    linker = "nvidia-nvjitlink-cu12>=12.4,<13"
    compiler = "nvidia-cuda-nvrtc-cu12>=12,<13"
    path = wheel(tmp_path, {"libx/x.dll": dll(needs)}, [linker, compiler, requires], tag=WINDOWS)
    assert told(judged(path)) == expected


def test_the_printed_line_cures_what_prints_it(tmp_path: Path) -> None:
    for needs, requires in (
        ("libcublas.so.12", "nvidia-cuda-runtime-cu12"),
        ("libcublas.so.12", "nvidia-cublas>=13"),
        ("libcublas.so.13", "nvidia-cublas"),
        ("libcudnn.so.9", "nvidia-cuda-runtime>=13,<14"),
        ("libcudnn.so.9", "nvidia-cudnn-cu12"),
        ("libcudss.so.0", "nvidia-cuda-runtime>=13,<14"),
        ("libcufft.so.11", "nvidia-cuda-runtime-cu12"),
    ):
        (problem, *_) = of(tmp_path, needs, requires)
        before, line = problem.remedy.split("write Requires-Dist: ")
        assert not before
        again = of(tmp_path, needs, line)
        assert not {"PKG-01", "PKG-02", "PKG-04"} & told(again).keys(), (needs, requires, line)


# The first two of these lists were never published as packages.
_BEFORE_11 = ["libcublas.so.9.0", "libcudart.so.10.1", "libcudnn.so.7", "libcusparse.so.10"]
_NVRTC_BEFORE_11_2 = [f"libnvrtc.so.{each}" for each in ("8.0", "9.2", "10.1", "11.0", "11.1")]
_OF_ONE_CUDA = ["libcublas.so.11", "libnvrtc.so.11.2", "libnvrtc.so.12", "libcudart.so.12"]
_PUBLISHED = ["libcufft.so.10", "libcurand.so.10", "libnvToolsExt.so.1", "libcudnn.so.8"]


@given(
    st.sets(
        st.sampled_from([*_BEFORE_11, *_NVRTC_BEFORE_11_2, *_OF_ONE_CUDA, *_PUBLISHED]), min_size=1
    )
)
@settings(max_examples=30, deadline=None)
@example({"libnvrtc.so.10.1", "libcufft.so.10"})
@example({"libnvrtc.so.11.1"})
def test_every_line_names_a_package_that_has_a_needed_file(needed: set[str]) -> None:
    """cupy-cuda92 8.6.0 needs NVRTC 9.2 and libnvToolsExt.so.1; packages begin with CUDA 11."""
    with TemporaryDirectory() as folder:
        found = judged(wheel(Path(folder), {PLACE: needing(*sorted(needed))}))
        again = [
            judged(wheel(Path(folder), {PLACE: needing(old)}, ["nvidia-cuda-nvrtc-cu11"]))
            for old in needed.intersection(_NVRTC_BEFORE_11_2)
        ]
    assert all("PKG-01" in told(each) for each in again)
    lines = re.findall(r"Requires-Dist: ([^\s,]+(?:,<\d+)?)", " ".join(p.remedy for p in found))
    old = needed.intersection([*_BEFORE_11, *_NVRTC_BEFORE_11_2])
    sure = needed.intersection(_OF_ONE_CUDA)
    assert bool(lines) is (bool(sure) if old else bool(needed))
    for line in map(Requirement, lines):
        files = {Path(file).name for row in rows_of(line.name) for file in row.files}
        assert files & needed, line
        assert any(row.first in line.specifier for row in rows_of(line.name)), line


@every("old", ["cublas64_10.dll", "cublas64_92.dll", "cudart64_101.dll", "cudnn64_7.dll"])
def test_libraries_of_old_toolkits_are_known_on_windows(tmp_path: Path, old: str) -> None:
    hosts = {"libx/x.dll": image().replace(b"cudart64_12.dll", old.encode().ljust(15, b"\0"))}
    requires = ["nvidia-nvjitlink-cu12>=12.4,<13", "nvidia-cuda-nvrtc-cu12>=12,<13"]
    (problem,) = judged(wheel(tmp_path, hosts, requires, tag=WINDOWS))
    assert (problem.rule, problem.asked[0].startswith(old.partition("64")[0])) == ("PKG-01", True)
    assert "no package that pip installs has it" in problem.remedy


@strikes("PKG-05")
@spares("PKG-05")
@every("runtime", [("cudart64_101.dll", 10), ("cudart64_110.dll", 11), ("cudart64_13.dll", 13)])
@every("named", [10, 11, 12, 13])
def test_a_name_of_another_major_than_the_runtime_fails_on_windows(
    tmp_path: Path, runtime: tuple[str, int], named: int
) -> None:
    file, major = runtime
    hosts = {"libx/x.dll": image().replace(b"cudart64_12.dll", file.encode().ljust(15, b"\0"))}
    hosts["libx/x.dll"] = hosts["libx/x.dll"].replace(b"nvrtc64_120_0.dll", b"nobodys_120_0.dll")
    problems = judged(wheel(tmp_path, hosts, name=f"libx-cu{named}", tag=WINDOWS))
    assert any(p.rule == "PKG-05" and file in p.message for p in problems) is (named != major)


def test_a_dependency_is_told_once_whatever_needs_it(tmp_path: Path) -> None:
    """As nvidia-cusolver 12.4.1.2 needs cuBLAS and cublasLt."""
    members = {PLACE: needing("libcublas.so.13", "libcublasLt.so.13")}
    assert told(judged(wheel(tmp_path, members, ["nvidia-cublas"]))) == {"PKG-02": UNDOCUMENTED}
    assert told(judged(wheel(tmp_path, members, ["nvidia-cublas-cu12"]))) == {"PKG-04": FAIL}
    assert told(judged(wheel(tmp_path, members, ["nvidia-nccl-cu13"]))) == {"PKG-01": FAIL}


def test_an_extra_that_brings_it_is_told(tmp_path: Path) -> None:
    requires = ["nvidia-cublas-cu12; extra == 'ctk'"]
    (problem,) = of(tmp_path, "libcublas.so.12", *requires, extras=["ctk"])
    assert (problem.rule, problem.verdict) == ("PKG-01", OK)
    assert problem.remedy.startswith("have users install it with libx[ctk]")
    (problem,) = of(tmp_path, "libnccl.so.2", *requires, extras=["ctk"])
    assert (problem.rule, problem.verdict) == ("PKG-01", UNKNOWN)
    assert problem.message.endswith("nor any other library of CUDA without an extra")
    assert problem.remedy.startswith("write Requires-Dist: nvidia-nccl-cu12>=2,<3, or tell users")


def test_whoever_needs_the_libraries_of_torch_has_torch_beside_it(tmp_path: Path) -> None:
    """As torchcodec does, whose metadata names no torch."""
    host = needing("libcudart.so.12", "libtorch.so")
    (problem,) = judged(wheel(tmp_path, {PLACE: host}, ["nvidia-npp-cu12"]))
    assert (problem.rule, problem.verdict) == ("PKG-01", OK)
    assert (
        "has to come with torch: if a release of torch lacks it, loading fails" in problem.message
    )


@pytest.mark.parametrize("file", ["libnvrtc.so.13", "libnvJitLink.so.13"])
def test_torch_brings_the_compilers_of_whoever_needs_its_libraries_too(
    tmp_path: Path, file: str
) -> None:
    """libtorchcodec_core4.so needs libnvrtc.so.13 and libtorch_cuda.so (readelf -d)."""
    beside, alone = needing(file, "libtorch_cuda.so"), needing(file)
    (problem,) = [p for p in judged(wheel(tmp_path, {"x/libx.so": beside})) if p.rule == "PKG-01"]
    assert problem.verdict is OK
    assert (
        "has to come with torch: if a release of torch lacks it, loading fails" in problem.message
    )
    assert "provided-by = {torch = ['lib" in problem.remedy
    for members in ({"x/libx.so": alone}, {"x/libx.so": alone, "x/liby.so": beside}):
        (problem,) = [p for p in judged(wheel(tmp_path, members)) if p.rule == "PKG-01"]
        assert problem.verdict is UNKNOWN


def test_one_of_two_majors_is_enough_where_the_package_has_files_for_both(tmp_path: Path) -> None:
    members = {f"libx/libx_cuda{major}0.so": needing(f"libcublas.so.{major}") for major in (12, 13)}
    path = wheel(tmp_path, members, ["nvidia-cublas-cu12", "nvidia-cuda-runtime-cu12"])
    verdicts = {problem.rule: problem.verdict for problem in judged(path)}
    assert verdicts == {"PKG-04": OK, "PKG-07": UNKNOWN}


@pytest.mark.parametrize(
    ("for_12", "for_13", "verdict"),
    [
        ("libx/libx_cuda12.so", "libx/libx_cuda13.so", OK),
        ("libx/cu12/x.so", "libx/cu13/x.so", OK),
        ("libx/old/x.so", "libx/new/x.so", OK),
        ("libx/engine_cu12.abi3.so", "libx/engine.abi3.so", OK),
        ("libx/core.so", "libx/core_cuda13.so", OK),
        ("libx/core.so", "libx/ops.so", FAIL),
        ("libx/_c.cpython-312-x86_64-linux-gnu.so", "libx/_cc.abi3.so", FAIL),
        ("libx/core_cu12.so", "libx/ops.so", FAIL),
        ("libx_cu12/core.so", "libx_cu12/ops.so", FAIL),
    ],
)
def test_files_of_two_majors_pass_only_as_variants(
    tmp_path: Path, for_12: str, for_13: str, verdict: Verdict
) -> None:
    """One extension that was built with another CUDA than the rest doesn't load."""
    members = {for_12: needing("libcublas.so.12"), for_13: needing("libcublas.so.13")}
    found = told(judged(wheel(tmp_path, members, ["nvidia-cublas-cu12"])))
    assert found["PKG-04"] is verdict


@pytest.mark.parametrize("place", ["/libx.so", "../libx.so", "../../../bin/libx.so"])
def test_files_outside_of_site_packages_get_no_runpath_to_paste(tmp_path: Path, place: str) -> None:
    """The way from there to site-packages depends on the installation."""
    members = {place: needing("libcublas.so.12", runpath=None)}
    (problem,) = judged(wheel(tmp_path, members, ["nvidia-cublas-cu12"]))
    assert (problem.rule, problem.verdict) == ("PKG-07", UNKNOWN)
    assert problem.remedy == "link with a RUNPATH that points to nvidia/cublas/lib in site-packages"


def test_the_major_is_that_of_what_else_is_needed(tmp_path: Path) -> None:
    members = {PLACE: needing("libcudnn.so.9", "libcudart.so.12")}
    (problem,) = judged(wheel(tmp_path, members, ["numpy"]))
    assert problem.remedy == (
        "write Requires-Dist: nvidia-cudnn-cu12>=9,<10, Requires-Dist: "
        "nvidia-cuda-runtime-cu12>=12,<13, or tell users to install a CUDA toolkit"
    )
    assert problem.message.startswith("its libraries need libcudnn 9, libcudart 12 of CUDA, but")


@pytest.mark.parametrize(
    ("opens", "needs", "requires", "verdict"),
    [
        (["libcublas.so.11"], [], "nvidia-cublas-cu12", UNKNOWN),
        (["libcudnn.so.8"], [], "nvidia-cudnn-cu12>=9", UNKNOWN),
        (["libcublas.so.11", "libcublas.so.12"], [], "nvidia-cublas-cu12", None),
        (["libcublas.so.11"], ["libcublas.so.12"], "nvidia-cublas-cu12", None),
        (["libcublas.so.12"], [], "nvidia-cublas-cu12", None),
        (["libcublas.so.11"], [], "nvidia-cufft-cu12", None),
        (["libcublas.so.11"], [], 'nvidia-cublas-cu12; extra == "gpu"', UNKNOWN),
    ],
)
def test_the_one_name_that_is_opened_is_of_the_major_that_is_brought(
    tmp_path: Path, opens: list[str], needs: list[str], requires: str, verdict: Verdict | None
) -> None:
    """CTranslate2 3.24 opens libcublas.so.11 alone, where an environment has CUDA 12."""
    members = {PLACE: library(tmp_path / "build", opens=opens, needs=needs, runpath=LEADS)}
    found = told(judged(wheel(tmp_path, members, [requires], extras=["gpu"])))
    assert found.get("PKG-04") is verdict


def test_what_is_only_opened_by_name_is_a_note(tmp_path: Path) -> None:
    """Programs try one name after the other, of which one is enough."""
    names = ["libcudnn.so.8", "libcudnn.so.9", "libnccl.so.2"]
    members = {PLACE: library(tmp_path / "build", opens=names)}
    for requires, expected in (
        (["numpy"], "libx.so opens libcudnn.so.8, libcudnn.so.9, libnccl.so.2 by name"),
        (["nvidia-cudnn-cu12>=9"], "libx.so opens libnccl.so.2 by name"),
        (["nvidia-cudnn-cu12>=9", "nvidia-nccl-cu12"], ""),
        (["torch"], ""),  # which may bring them
    ):
        problems = judged(wheel(tmp_path, members, requires))
        assert [problem.verdict for problem in problems] == [OK] * bool(expected), requires
        assert all(problem.message.startswith(expected) for problem in problems), problems


@every(
    "case",
    [
        (["torch"], ("libcudart.so.13",), OK),  # as pip takes it today
        (["torch>=2.9,<2.11"], ("libcudart.so.12",), OK),
        (["torch==2.9.*"], ("libcudart.so.12",), OK),
        (["torch==2.9.1"], ("libcudart.so.13", "libcusparse.so.12"), FAIL),
        (["torch>=2.1"], ("libcudart.so.12",), FAIL),
        (["torch>=2.1", "torch<2.5"], ("libcudart.so.12",), OK),
        (["torch>=2.1", "libx-gpu"], ("libcudart.so.12",), OK),  # which may bring it
        # LMCache 0.4.4: it is linked with torch, so that it is of the CUDA of torch.
        (["torch", "libx-gpu"], ("libcudart.so.12", "libtorch_cuda.so"), UNKNOWN),
        (["torch", "libx-gpu"], ("libcudart.so.13", "libtorch_cuda.so"), OK),
        # Unless another package is of its CUDA by its name (acellera-openmmtorch-cu12 1.10).
        (["torch", "libx-cuda-12"], ("libcudart.so.12", "libtorch_cuda.so"), OK),
        (["torch", "libx-cu12[all]"], ("libnvrtc.so.12", "libtorch_cuda.so"), OK),
        (["torch", "libx-cuda-11"], ("libcudart.so.12", "libtorch_cuda.so"), UNKNOWN),
        (["torch", "libx-cuda-13"], ("libcudart.so.12",), OK),
        (["torch"], ("libcudart.so.12", "libcudart.so.13"), OK),  # a library for each
        (["torch"], ("libcusparse.so.12",), OK),  # of CUDA 12 and 13
        (["torch==9.9"], ("libcudart.so.12",), OK),  # which nobody has read
        (["torch==2.9.1+cu130"], ("libcudart.so.13",), OK),  # of another index
    ],
)
def test_torch_brings_the_libraries_of_its_own_major(
    tmp_path: Path, case: tuple[list[str], tuple[str, ...], Verdict]
) -> None:
    """By the metadata of torch's wheels on PyPI: CUDA 12 up to 2.10, CUDA 13 from 2.11 on."""
    requires, needs, expected = case
    problems = judged(wheel(tmp_path, {PLACE: needing(*needs)}, requires))
    found = {problem.subject: problem.verdict for problem in problems if problem.rule == "PKG-01"}
    assert found[needs[0].partition(".so")[0]] is expected


@every(
    "case",
    [
        (["torch==2.2.1"], "libcudart.so.12", OK),  # which brings CUDA 12
        (["torch==2.2.1"], "libcudart.so.13", FAIL),
        (["torch==2.14.1"], "libcudart.so.12", FAIL),
        # A list with NVIDIA's packages has all that are installed.
        (["torch==2.2.1", "nvidia-cublas-cu12==12.1.3.1"], "libcudart.so.12", UNKNOWN),
        (["numpy==2.0.0"], "libcudart.so.12", FAIL),  # as the newest torch brings CUDA 13
    ],
)
def test_torch_in_a_list_brings_the_libraries_of_its_own_major(
    tmp_path: Path, case: tuple[list[str], str, Verdict]
) -> None:
    """A list tells names and versions, not what they depend on."""
    beside, needs, expected = case
    path = tmp_path / "requirements.txt"
    path.write_text("\n".join(beside))
    others = resolved_packages(str(path), DEFAULT_LIMITS, None)
    problems = judged(wheel(tmp_path, {PLACE: needing(needs)}, ["torch"]), others=others)
    assert told(problems) == {"PKG-01": expected}


@every(
    "case",
    [
        ([], OK),  # which of them bring it, only their metadata tells
        (["libx-gpu", "cupy-foo"], UNKNOWN),
        (["libx-gpu", "cupy-foo", "nvidia-cuda-runtime-cu12"], None),
    ],
)
@every("beside", ["report.json", "requirements.txt"])
def test_a_report_of_pip_tells_all_and_a_list_of_names_nothing(
    tmp_path: Path, case: tuple[list[str], Verdict | None], beside: str
) -> None:
    """pip's report has the core metadata of each; without requires_dist it depends on nothing."""
    names, expected = case
    path = tmp_path / beside
    rows = [{"metadata": {"name": name, "version": "12.9"}} for name in names]
    lines = "\n".join(f"{name}==12.9" for name in names)
    path.write_text(json.dumps({"install": rows}) if path.suffix == ".json" else lines)
    others = resolved_packages(str(path), DEFAULT_LIMITS, None)
    members = {PLACE: needing("libcudart.so.12", runpath="$ORIGIN/../../nvidia/cuda_runtime/lib")}
    problems = judged(wheel(tmp_path, members, ["libx-gpu", "cupy-foo"]), others=others)
    if expected is UNKNOWN and beside == "requirements.txt":
        expected = OK
    assert told(problems) == ({"PKG-01": expected} if expected is not None else {})


TORCHES = ("2.0.1", "2.1", "2.4.1", "2.10.0", "2.11.0", "2.12", "2.13.0", "2.14.1")


@every("first", TORCHES)
def test_the_torch_that_a_finding_names_is_one_that_the_metadata_allow(
    tmp_path: Path, first: str
) -> None:
    for last in TORCHES[TORCHES.index(first) :]:
        for asked in (f">={first},<={last}", f">={first},<{last}.1", f"~={first}"):
            for problem in of(tmp_path, "libcudart.so.10.2", f"torch{asked}"):
                for version in re.findall(r"but torch (\S+) installs", problem.message):
                    assert version in SpecifierSet(asked)


def test_a_file_name_of_a_pinned_version_is_not_compared_with_that_of_another_system(
    tmp_path: Path,
) -> None:
    """CUPTI of CUDA 11.7 is for x86-64 alone, and that of 11.8 is called libcupti.so.11.8."""
    problems = of(tmp_path, "libcupti.so.11.7", "nvidia-cuda-cupti-cu11==11.7.101")
    assert told(problems) == {"PKG-07": UNKNOWN}  # no RUNPATH leads there


def test_metadata_beside_are_followed(tmp_path: Path) -> None:
    def beside(name: str, *requires: str) -> Package:
        found = package_of(str(wheel(tmp_path, {}, requires, name=name)))
        assert found is not None
        return found

    path = wheel(tmp_path, {PLACE: needing("libcublas.so.12")}, ["liby-cu12"])
    assert told(judged(path)) == {"PKG-01": OK}
    assert judged(path, others=[beside("liby-cu12", "nvidia-cublas-cu12")]) == ()
    lacking = beside("liby-cu12", "nvidia-cuda-runtime-cu12")
    assert told(judged(path, others=[lacking])) == {"PKG-01": FAIL}


@every(
    "case",
    [
        ("$ORIGIN/../../nvidia/cublas/lib", (), {}),
        ("${ORIGIN}/../../nvidia/cublas/lib/", (), {}),
        ("$ORIGIN/../../nvidia/cu13/lib", (), {"PKG-07": UNKNOWN}),
        (None, (), {"PKG-07": UNKNOWN}),
        (None, ("def load():\n    return 'libcublas.so.12'",), {"PKG-07": UNKNOWN}),
        # Which may load it first.
        (None, ("", "import ctypes\nctypes.CDLL('libcublas.so.12')"), {"PKG-07": OK}),
        (None, ("def load():\n    from torch import cuda",), {"PKG-07": OK}),
        (None, ("import libcudf\nlibcudf.load_library()",), {"PKG-07": OK}),
    ],
)
def test_runpath_leads_to_where_pip_puts_it(
    tmp_path: Path, case: tuple[str | None, tuple[str, ...], dict[str, Verdict]]
) -> None:
    runpath, modules, expected = case
    members = {PLACE: needing("libcublas.so.12", runpath=runpath)}
    members |= {f"libx/m{number}.py": text.encode() for number, text in enumerate(modules)}
    path = wheel(tmp_path, members, ["nvidia-cublas-cu12"])
    problems = judged(path)
    assert told(problems) == expected
    with zipfile.ZipFile(path) as packed:  # and unzipped
        packed.extractall(tmp_path / "site")
    record = tmp_path / "site" / "libx-1.0.dist-info" / "RECORD"
    record.write_text("".join(f"{name},,\n" for name in members))
    assert told(judged(tmp_path / "site" / PLACE)) == expected
    if problems:
        assert problems[0].remedy == "link with -Wl,-rpath,'$ORIGIN/../../nvidia/cublas/lib'"


@every(
    "case",
    [
        (None, {}),  # found by nobody, so that whoever loads it has loaded libx before
        ("$ORIGIN/lib", {}),
        ("$ORIGIN", {"PKG-07": UNKNOWN}),  # libx is found here, and asked last
        ("$ORIGIN/../lib64", {"PKG-07": UNKNOWN}),
    ],
)
@every("name", ["libx.so", "liby.so"])
def test_a_plugin_is_loaded_after_what_it_extends(
    tmp_path: Path, case: tuple[str | None, dict[str, Verdict]], name: str
) -> None:
    """As OpenMM's: tried with gcc and ctypes, in either order and with either RUNPATH."""
    runpath, expected = case
    members = {
        PLACE: needing("libcublas.so.12"),
        "libx/lib64/libplugin.so": needing(name, "libcublas.so.12", runpath=runpath),
    }
    problems = judged(wheel(tmp_path, members, ["nvidia-cublas-cu12"]))
    assert told(problems) == (expected if name == "libx.so" else {"PKG-07": UNKNOWN})


@every(
    "case",
    [
        ("$ORIGIN", None, ""),
        ("$ORIGIN/../lib:${ORIGIN}:$LIB", None, ""),
        ("/usr/local/cuda/lib64:/usr/lib", None, ""),
        ("/opt/rocm/lib", None, ""),
        ("$ORIGIN::/usr/lib", UNDOCUMENTED, "$ORIGIN:/usr/lib"),
        ("$ORIGIN:", UNDOCUMENTED, "$ORIGIN"),
        ("lib:$ORIGIN", UNDOCUMENTED, "$ORIGIN"),
        ("/tmp/build/lib", UNDOCUMENTED, ""),  # noqa: S108 - a name in a file
        ("/home/runner/work/lib", OK, ""),
        ("/__w/_temp/conda_environment_1/lib:$ORIGIN", OK, "$ORIGIN"),
        ("/opt/conda/lib", OK, ""),
        ("/croot/x_1/_h_env_placehold_placehold/lib", OK, ""),
    ],
)
@strikes("PKG-14")
@spares("PKG-14")
def test_runpath_names_no_folder_of_its_build(
    tmp_path: Path, case: tuple[str, Verdict | None, str]
) -> None:
    runpath, expected, kept = case
    path = wheel(tmp_path, {PLACE: library(tmp_path / "build", runpath=runpath)})
    problems = judged(path)
    assert told(problems) == ({} if expected is None else {"PKG-14": expected})
    if problems:
        how = f"--set-rpath {kept}" if kept else "--remove-rpath"
        assert (
            problems[0].remedy.replace("'", "")
            == f"link without this folder, or run patchelf {how} libx.so"
        )


def test_the_loader_looks_into_the_current_folder_for_an_empty_element(tmp_path: Path) -> None:
    """The oracle of PKG-14: a library that lies where the program is started is loaded."""
    found = build(tmp_path / "here" / "liby.so", source="int y(void) { return 7; }")
    host = build(tmp_path / "x" / "libx.so", needs=[found], runpath="$ORIGIN:")
    program = build(tmp_path / "program", program=True)
    for folder, loaded in (("here", True), ("x", False)):
        done = subprocess.run(
            [str(program), str(host)],
            env={"LD_DEBUG": "files"},
            cwd=tmp_path / folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ("calling fini: liby.so" in done.stderr) is loaded
    path = wheel(tmp_path, {PLACE: host.read_bytes()})
    assert told(judged(path)) == {"PKG-14": UNDOCUMENTED}


def test_installed_packages_are_held_to_the_same(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    for name, data in {
        PLACE: needing("libcublas.so.12", runpath="$ORIGIN"),
        "libx-1.0.dist-info/METADATA": metadata("libx", "1.0", ["nvidia-cublas-cu12"]),
        "libx-1.0.dist-info/RECORD": f"{PLACE},,\n".encode(),
    }.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(data)
    assert told(judged(site / PLACE)) == {"PKG-07": UNKNOWN}


def in_conda(folder: Path, needs: str, *depends: str, limits: str = "") -> dict[str, Verdict]:
    """The verdicts on a conda package with one library that needs another."""
    members = {"lib/libx.so": needing(needs, runpath="$ORIGIN")}
    return told(judged(conda(folder, members, depends, [limits] if limits else [])))


@every(
    "case",
    [
        ("libcublas.so.12", "libcublas >=12.4,<13.0a0"),
        ("libcublas.so.13", "libcublas >=13.0.0.19,<14.0a0"),
        ("libcublasLt.so.12", "libcublas 12.9.*"),
        ("libcusparse.so.12", "libcusparse >=12.5,<13"),
        ("libcufft.so.11", "libcufft >=11.2,<12"),
        ("libcurand.so.10", "libcurand >=10.3,<11"),
        ("libcusolver.so.11", "libcusolver >=11.6,<12"),
        ("libcudart.so.12", "cuda-cudart >=12.4,<13"),
        ("libnppc.so.12", "libnpp >=12.2,<13"),
        ("libnvjpeg.so.12", "libnvjpeg >=12.3,<13"),
        ("libcupti.so.12", "cuda-cupti >=12.4,<13"),
        ("libcudart.so.12", "cuda-libraries >=12.4,<13"),
    ],
)
def test_packages_of_conda_forge_bring_their_libraries(
    case: tuple[str, str], tmp_path: Path
) -> None:
    """Their names, versions and files: packages of conda-forge, NVIDIA's redistributables."""
    assert in_conda(tmp_path, *case) == {}


def test_cuda_version_holds_the_libraries_of_conda_forge_to_one_major(tmp_path: Path) -> None:
    """As conda-forge asks: the library without bounds, and cuda-version with them."""
    assert in_conda(tmp_path, "libcublas.so.12", "libcublas", "cuda-version >=12,<13") == {}
    assert in_conda(tmp_path, "libcublas.so.12", "libcublas") == {"PKG-02": UNDOCUMENTED}
    assert in_conda(tmp_path, "libcublas.so.12", "libcublas >=12") == {"PKG-02": UNDOCUMENTED}


@every("depends", ["libcublas >=13,<14", "libcublas 13.*", "libcublas >=11,<12"])
def test_a_library_of_conda_forge_in_another_major_is_not_the_one_that_is_needed(
    depends: str, tmp_path: Path
) -> None:
    assert in_conda(tmp_path, "libcublas.so.12", depends) == {"PKG-04": FAIL}


def test_what_no_line_of_a_conda_package_brings_is_a_note(tmp_path: Path) -> None:
    """Any package that it depends on may bring it; constrains bring nothing."""
    for depends in ((), ("libraft",), ("libcusparse >=12,<13",)):
        assert in_conda(tmp_path, "libcublas.so.12", *depends) == {"PKG-01": OK}
    limited = in_conda(tmp_path, "libcublas.so.12", limits="libcublas >=12,<13")
    assert limited == {"PKG-01": OK}
    (problem,) = judged(conda(tmp_path, {"lib/libx.so": needing("libcublas.so.12")}))[:1]
    assert problem.remedy == "write depends: libcublas >=12,<13"


@every(
    "case",
    [
        ("libcublas.so.12", "libc6 (>= 2.34), libcublas12 (= 12.4.5.8~12.4.1-2)", {}),
        ("libcublasLt.so.12", "libcublaslt12", {}),
        ("libcublas.so.12", "libcublas-12-4", {}),
        ("libcublas.so.13", "libcublas-13-0 (>= 13.0.0.19)", {}),
        ("libcublas.so.12", "libcublas11 | libcublas12", {}),
        ("libcublasLt.so.12", "cuda-libraries-12-6", {}),
        ("libnvrtc.so.12", "libnvrtc12", {}),
        ("libnvrtc.so.12", "cuda-nvrtc-12-4", {}),
        ("libcudnn.so.9", "libcudnn9-cuda-12", {}),
        ("libcufft.so.11", "libcudart12, libc6", {"PKG-01": FAIL}),
        ("libnvrtc.so.12", "libcufft11", {"PKG-01": FAIL}),
        ("libcublas.so.12", "libcublas-11-8", {"PKG-04": FAIL}),
        ("libcufft.so.11", "libc6 (>= 2.34), libstdc++6", {"PKG-01": UNKNOWN}),
        ("libcublas.so.12", "libcuda1, libnvidia-ml1", {"PKG-01": UNKNOWN}),  # of the driver
        ("libcublas.so.12", "libacme-cuda1", {"PKG-01": OK}),  # which may bring it
    ],
)
def test_debian_packages_bring_their_libraries(
    tmp_path: Path, case: tuple[str, str, dict[str, Verdict]]
) -> None:
    """Debian's names by SONAME, NVIDIA's by release, as dpkg-shlibdeps writes them."""
    needs, depends, expected = case
    place = "./usr/lib/x86_64-linux-gnu/libx.so.1"
    path = debian(tmp_path, {place: needing(needs, runpath=None)}, depends)
    found = judged(path)
    assert told(found) == expected
    assert all("Requires-Dist" not in problem.remedy for problem in found)


def test_a_debian_package_is_for_its_machine(tmp_path: Path) -> None:
    members = {"./usr/lib/libx.so.1": needing("libc.so.6")}
    found = judged(debian(tmp_path, members, "libc6", machine="arm64"))
    assert told(found) == {"PKG-06": FAIL}


@pytest.mark.parametrize(
    "case",
    [
        ("libcublas.so.12", "libcublas.so.12()(64bit)", {}),
        ("libcufft.so.11", "libcufft.so.11(libcufft.so.11)(64bit)", {}),
        ("libnvrtc.so.12", "cuda-nvrtc-12-4", {}),
        ("libcublasLt.so.12", "cuda-libraries-12-6", {}),
        ("libcublas.so.12", "libcublas-11-8", {"PKG-04": FAIL}),
        ("libcublas.so.12", "libcublas.so.11()(64bit)", {"PKG-04": FAIL}),
        ("libcufft.so.11", "libcudart.so.12()(64bit)", {"PKG-01": FAIL}),
        ("libcufft.so.11", "rpmlib(FileDigests)", {"PKG-01": UNKNOWN}),
        ("libcufft.so.11", "/bin/sh", {"PKG-01": UNKNOWN}),
        ("libcublas.so.12", "libacme-cuda1", {"PKG-01": OK}),  # which may bring it
    ],
)
def test_rpm_packages_bring_their_libraries(
    tmp_path: Path, case: tuple[str, str, dict[str, Verdict]]
) -> None:
    """Libraries by SONAME, as rpmbuild finds them, and NVIDIA's packages by release."""
    needs, requires, expected = case
    place = "./usr/lib64/libx.so.1"
    path = rpm(tmp_path, {place: needing(needs, runpath=None)}, ["libc.so.6()(64bit)", requires])
    found = judged(path)
    assert told(found) == expected
    assert all("Requires-Dist" not in problem.remedy for problem in found)


def test_an_rpm_package_is_for_its_machine(tmp_path: Path) -> None:
    members = {"./usr/lib64/libx.so.1": needing("libc.so.6")}
    found = judged(rpm(tmp_path, members, [], machine="aarch64"))
    assert told(found) == {"PKG-06": FAIL}
