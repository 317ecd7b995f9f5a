"""Rules of packages, on wheels and conda packages with real libraries and real device code."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from fatbin_writer import KINDS, EntrySpec, entry, region
from hypothesis import assume, given
from hypothesis import strategies as st
from libraries_made import build, needs_gcc
from package_writer import zip_of
from packages_made import (
    CUBIN_12_4,
    CUBIN_13_5,
    LINUX,
    LTOIR_12_4,
    LTOIR_13_5,
    conda,
    judged,
    library,
    told,
    wheel,
)
from packaging.requirements import Requirement
from rule_cases import spares, strikes
from samples import FOLDER
from test_hosts_windows import image

from ltocompat.cli import run
from ltocompat.files.objects.structure import OF_LIBRT
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.errors import UsageError
from ltocompat.model.policy import Promise
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict
from ltocompat.packages.reading import packages_beside
from ltocompat.packages.values import Kind, Package
from ltocompat.rules.needed_compilers import NeededCompiler, Strength
from ltocompat.rules.rule import Problem

FAIL, UNKNOWN, OK = Verdict.FAIL, Verdict.UNKNOWN, Verdict.OK
UNDOCUMENTED = Verdict.UNDOCUMENTED
RIGHT = "nvidia-nvjitlink>=13.5,<14"
RUNPATH_13 = "$ORIGIN/../../nvidia/cu13/lib"
pytestmark = needs_gcc


@pytest.fixture(scope="module")
def opening(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Opens libnvJitLink.so.13 by name, as cuSPARSE does."""
    return library(tmp_path_factory.mktemp("opening"), opens=["libnvJitLink.so.13"])


@pytest.fixture(scope="module")
def loading(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Needs libnvJitLink.so.13 and imports a function of 13.3, as libcuvs does."""
    return library(
        tmp_path_factory.mktemp("loading"),
        needs=["libnvJitLink.so.13"],
        imports=["__nvJitLinkCreate_13_3"],
        runpath=RUNPATH_13,
    )


def files(host: bytes, code: bytes | None = None) -> dict[str, bytes]:
    found = {"libx/lib64/libx.so": host}
    return found if code is None else {**found, "libx/lib64/x.ltoir": code}


def only(problems: tuple[Problem, ...], rule: str) -> Problem:
    (found,) = [problem for problem in problems if problem.rule == rule]
    return found


@spares("NJL-06", "PKG-02", "PKG-03", "PKG-04", "PKG-11")
def test_the_right_line_is_right(tmp_path: Path, opening: bytes, loading: bytes) -> None:
    assert judged(wheel(tmp_path, files(opening, LTOIR_13_5), [RIGHT])) == ()
    assert judged(wheel(tmp_path, files(loading, LTOIR_13_5), [RIGHT])) == ()
    assert judged(wheel(tmp_path, files(loading), ["nvidia-nvjitlink>=13.3,<14"])) == ()


@strikes("NJL-06", "PKG-02")
def test_a_bare_dependency_is_too_low_and_has_no_end(tmp_path: Path, opening: bytes) -> None:
    problems = judged(wheel(tmp_path, files(opening, LTOIR_13_5), ["nvidia-nvjitlink"]))
    assert told(problems) == {"NJL-06": FAIL, "PKG-02": UNDOCUMENTED}
    low = only(problems, "NJL-06")
    assert low.message == (
        "the metadata allows nvidia-nvjitlink 13.0, but the package has LTO-IR made by 13.5, "
        "so 13.5 or newer is needed"
    )
    assert low.remedy == f"write Requires-Dist: {RIGHT}"
    assert low.evidence == "Requires-Dist: nvidia-nvjitlink"


def test_an_audit_without_a_policy_fails_until_the_printed_line_is_written(
    opening: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    path = wheel(tmp_path, files(opening, LTOIR_13_5), ["nvidia-nvjitlink"])
    assert run(["audit", path.name]) == 1
    _, how, *_ = capsys.readouterr().out.splitlines()
    line, _ = how.removeprefix("what to do: write Requires-Dist: ").split(". Or run ")
    wheel(tmp_path, files(opening, LTOIR_13_5), [line])
    assert run(["audit", path.name]) == 0


def test_where_several_compilers_are_possible_a_trial_decides(
    tmp_path: Path, opening: bytes
) -> None:
    """Container 1.66 is that of 13.1 and 13.2, and a scrambled image shows no more."""
    code = (FOLDER / "fatbin-ltoir" / "nvfatbin-13.2-of-13.2-lto_80.fatbin").read_bytes()
    problems = judged(wheel(tmp_path, files(opening, code), ["nvidia-nvjitlink>=13.1,<14"]))
    assert told(problems) == {"NJL-06": UNKNOWN}
    right = "nvidia-nvjitlink>=13.2,<14"
    assert problems[0].message == (
        "the metadata allows nvidia-nvjitlink 13.1, but the package has LTO-IR made by 13.1 or "
        "13.2, so 13.2 may be needed; a trial link decides"
    )
    assert problems[0].remedy == (
        f"write Requires-Dist: {right}, unless a trial link shows that 13.1 is enough"
    )
    low = judged(wheel(tmp_path, files(opening, code), ["nvidia-nvjitlink>=13.0,<14"]))
    assert told(low) == {"NJL-06": FAIL}
    assert judged(wheel(tmp_path, files(opening, code), [right])) == ()


def test_sass_of_the_oldest_possible_compiler_says_who_made_the_ltoir_beside_it(
    tmp_path: Path, opening: bytes
) -> None:
    """As in libcudf-cu13 26.8.1, whose metadata asks for the toolkit that its SASS is of."""
    code = (FOLDER / "fatbin-ltoir" / "nvfatbin-13.2-of-13.2-lto_80.fatbin").read_bytes()
    of_13_2 = (FOLDER / "cubin" / "nvcc-13.2-sm_80.cubin").read_bytes()
    of_13_1 = of_13_2.replace(b"13.2", b"13.1")
    of_12 = (FOLDER / "cubin" / "nvrtc-12.0-sm_80.cubin").read_bytes()
    for sass, expected in (
        ([of_13_1], OK),
        ([of_13_1, of_12], UNKNOWN),  # of several toolkits: each may have made the LTO-IR
        ([of_13_2], UNKNOWN),
        ([of_13_1, of_13_2], UNKNOWN),
        ([of_12], UNKNOWN),  # of another toolkit: nothing is said of the LTO-IR
    ):
        cubins = {f"libx/{number}.cubin": each for number, each in enumerate(sass)}
        members = {**files(opening, code), **cubins}
        problems = judged(wheel(tmp_path, members, ["nvidia-nvjitlink>=13.1,<14"]))
        assert only(problems, "NJL-06").verdict is expected
        low = judged(wheel(tmp_path, members, ["nvidia-nvjitlink>=13.0,<14"]))
        assert only(low, "NJL-06").verdict is FAIL


def test_old_code_in_a_library_of_13_needs_no_more_than_13_0(
    tmp_path: Path, opening: bytes
) -> None:
    """As in cuFFT 12.5.0.14: LTO-IR of 12.4, and libnvJitLink.so.13 to link it."""
    problems = judged(wheel(tmp_path, files(opening, LTOIR_12_4), ["nvidia-nvjitlink"]))
    assert told(problems) == {"PKG-02": UNDOCUMENTED}
    assert problems[0].remedy == "write Requires-Dist: nvidia-nvjitlink>=13.0,<14"


@strikes("PKG-01")
def test_a_missing_dependency_fails_where_something_needs_it(
    tmp_path: Path, opening: bytes, loading: bytes
) -> None:
    for members in (files(loading), files(opening, LTOIR_13_5)):
        problems = judged(wheel(tmp_path, members, ["nvidia-cublas>=13,<14"]))
        assert told(problems) == {"PKG-01": FAIL}
        assert problems[0].remedy.startswith("write Requires-Dist: nvidia-nvjitlink>=13.")


def test_what_an_unknown_dependency_may_bring_is_a_note_with_its_name(
    tmp_path: Path, loading: bytes
) -> None:
    path = wheel(tmp_path, files(loading), ["libraft-cu13==26.10.*"])
    problems = judged(path)
    assert told(problems) == {"PKG-01": OK}
    assert "may come with libraft-cu13" in problems[0].message
    other = wheel(tmp_path, {}, [RIGHT], name="libraft-cu13", version="26.10.0")
    assert judged(path, others=packages_beside([other])) == ()
    empty = wheel(tmp_path, {}, [], name="libraft-cu13", version="26.10.0")
    problems = judged(path, others=packages_beside([empty]))
    assert told(problems) == {"PKG-01": UNKNOWN}
    assert "no dependency installs nvJitLink" in problems[0].message


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [("acme[gpu]", OK), ("acme[cu13]", OK), ("acme[test,cuda]>=2", OK), ("acme[test]", UNKNOWN)],
)
def test_an_extra_that_names_cuda_may_bring_its_libraries(
    tmp_path: Path, loading: bytes, asked: str, verdict: Verdict
) -> None:
    assert told(judged(wheel(tmp_path, files(loading), [asked]))) == {"PKG-01": verdict}


@pytest.mark.parametrize(
    ("name", "asked", "verdict"),
    [
        ("tensorflow-gpu", "tensorflow-estimator>=1.13", UNKNOWN),
        ("x", "tensorflow-text", UNKNOWN),
        ("x", "tensorflow[and-cuda]", OK),
        ("x", "jaxtyping", UNKNOWN),
        ("x", "jax[cuda12]", OK),
        ("x", "numba-stats", UNKNOWN),
        ("x", "onnxruntime", UNKNOWN),
    ],
)
def test_a_name_with_that_of_a_package_without_libraries_of_cuda_brings_none(
    tmp_path: Path, loading: bytes, name: str, asked: str, verdict: Verdict
) -> None:
    """As tensorflow-gpu 1.13.2 for Windows, which loads with a toolkit of CUDA 10.0 only."""
    path = wheel(tmp_path, files(loading), [asked], name=name)
    assert told(judged(path)) == {"PKG-01": verdict}


def test_what_only_an_extra_brings_is_a_note(tmp_path: Path, loading: bytes) -> None:
    requires = ['cuda-toolkit[nvjitlink]==13.5.*; extra == "ctk"']
    path = wheel(tmp_path, files(loading), requires, extras=["ctk"])
    problems = judged(path)
    assert told(problems) == {"PKG-01": OK}
    assert "only with the extra ctk" in problems[0].message


@spares("PKG-01")
def test_a_wheel_with_its_own_copy_needs_none(tmp_path: Path) -> None:
    """As auditwheel leaves it: a hash in the name, in DT_NEEDED too."""
    name = "libnvJitLink-3ab1c2d4.so.13"
    host = library(tmp_path, needs=[name], imports=["__nvJitLinkCreate_13_3"])
    members = {**files(host, LTOIR_13_5), f"libx.libs/{name}": host}
    assert judged(wheel(tmp_path, members)) == ()


def test_a_static_copy_needs_none(tmp_path: Path) -> None:
    host = library(tmp_path, opens=["NVJITLINK_TRACE_MESSAGES"])
    assert judged(wheel(tmp_path, files(host, LTOIR_13_5))) == ()


@strikes("PKG-03")
def test_a_pin_is_told_and_one_that_is_too_low_fails(tmp_path: Path, loading: bytes) -> None:
    high = judged(wheel(tmp_path, files(loading), ["nvidia-nvjitlink==13.5.37"]))
    assert told(high) == {"PKG-03": UNDOCUMENTED}
    assert high[0].remedy == "write Requires-Dist: nvidia-nvjitlink>=13.3,<14"
    low = judged(wheel(tmp_path, files(loading), ["cuda-toolkit[nvjitlink]==13.0.2"]))
    assert told(low) == {"NJL-06": FAIL, "PKG-03": UNDOCUMENTED}
    assert only(low, "PKG-03").evidence.endswith("-> nvidia-nvjitlink")


@strikes("PKG-04")
def test_the_package_of_another_major_fails(tmp_path: Path, loading: bytes) -> None:
    problems = judged(wheel(tmp_path, files(loading), ["nvidia-nvjitlink-cu12>=12.4"]))
    assert told(problems) == {"PKG-04": FAIL}
    assert problems[0].remedy == "write Requires-Dist: nvidia-nvjitlink>=13.3,<14"


def test_nvrtc_is_held_to_its_major(tmp_path: Path) -> None:
    host = library(
        tmp_path, needs=["libnvrtc.so.12"], runpath="$ORIGIN/../../nvidia/cuda_nvrtc/lib"
    )
    for requires, expected in {
        "nvidia-cuda-nvrtc-cu12": {},
        "cuda-toolkit[nvrtc]==12.*": {},
        "nvidia-cuda-nvrtc": {"PKG-04": FAIL},
        "numpy": {"PKG-01": UNKNOWN},
        "nvidia-cufft-cu12": {"PKG-01": FAIL},
    }.items():
        assert told(judged(wheel(tmp_path, files(host), [requires]))) == expected


def test_conda_is_held_to_the_same(tmp_path: Path, opening: bytes) -> None:
    members = {"lib/libx.so": opening, "lib/x.ltoir": LTOIR_12_4}
    old = {**members, "lib/x.ltoir": LTOIR_13_5}
    right = conda(tmp_path, old, ["libnvjitlink >=13.5.37,<14.0a0"])
    assert judged(right) == ()
    bare = judged(conda(tmp_path, old, ["libnvjitlink"]))
    assert told(bare) == {"NJL-06": FAIL, "PKG-02": UNDOCUMENTED}
    assert bare[0].remedy == "write depends: libnvjitlink >=13.5,<14"
    tied = judged(conda(tmp_path, old, ["libnvjitlink", "cuda-version >=13.5,<14"]))
    assert tied == ()
    only_limits = judged(conda(tmp_path, old, [], ["libnvjitlink >=13.5,<14"]))
    assert told(only_limits) == {"PKG-01": FAIL}
    first = judged(conda(tmp_path, old, ["libnvjitlink"], old=True))
    assert told(first) == told(bare)


@strikes("PKG-05")
def test_the_name_of_another_major_fails(tmp_path: Path, loading: bytes) -> None:
    problems = judged(wheel(tmp_path, files(loading), [RIGHT], name="libx-cu12"))
    assert told(problems) == {"PKG-05": FAIL}
    assert problems[0].message == "libx-cu12 is called cu12, but libx.so needs libnvJitLink.so.13"
    assert problems[0].remedy == "call it libx-cu13, or build it with CUDA 12"
    assert judged(wheel(tmp_path, files(loading), [RIGHT], name="libx-cu13")) == ()
    cupy = judged(wheel(tmp_path, files(loading), [RIGHT], name="cupy-cuda12x"))
    assert only(cupy, "PKG-05").remedy.startswith("call it cupy-cuda13x")
    local = judged(wheel(tmp_path, files(loading), [RIGHT], version="1.0+cu124"))
    assert told(local) == {"PKG-05": FAIL}


@spares("PKG-05")
def test_one_of_several_names_to_open_is_enough(tmp_path: Path) -> None:
    host = library(tmp_path, opens=["libnvrtc.so.12", "libnvrtc.so.13"])
    for name in ("libx-cu12", "libx-cu13"):
        assert "PKG-05" not in told(judged(wheel(tmp_path, files(host), name=name)))


def test_a_name_to_open_is_a_last_resort_where_the_loader_brings_the_right_one(
    tmp_path: Path,
) -> None:
    """As in libtransformer_engine.so: DT_NEEDED libcudart.so.13, and the string libcudart.so.12."""
    both = library(tmp_path, needs=["libcudart.so.13"], opens=["libcudart.so.12"])
    assert "PKG-05" not in told(judged(wheel(tmp_path, files(both), name="libx-cu13")))
    assert told(judged(wheel(tmp_path, files(both), name="libx-cu12")))["PKG-05"] is FAIL
    opening = library(tmp_path, opens=["libcudart.so.12"])
    assert told(judged(wheel(tmp_path, files(opening), name="libx-cu13")))["PKG-05"] is UNKNOWN
    beside = {"libx/libx.so": opening, "libx/liby.so": both}
    assert told(judged(wheel(tmp_path, beside, name="libx-cu13")))["PKG-05"] is UNKNOWN


def test_code_of_a_newer_compiler_breaks_the_name(tmp_path: Path) -> None:
    new = judged(wheel(tmp_path, {"libx/x.cubin": CUBIN_13_5}, name="libx-cu12"))
    assert told(new) == {"PKG-05": UNKNOWN}
    assert "1 of 1 modules were made by newer tools" in new[0].message
    assert judged(wheel(tmp_path, {"libx/x.cubin": CUBIN_12_4}, name="libx-cu12")) == ()
    assert judged(wheel(tmp_path, {"libx/x.cubin": CUBIN_12_4}, name="libx-cu13")) == ()


@strikes("PKG-06")
def test_the_tag_of_another_machine_fails(tmp_path: Path, loading: bytes) -> None:
    for tag in ("py3-none-manylinux_2_28_aarch64", "py3-none-win_amd64", "py3-none-any"):
        problems = judged(wheel(tmp_path, files(loading), [RIGHT], tag=tag))
        assert told(problems) == {"PKG-06": FAIL}
        right = "manylinux_2_28_x86_64" if "linux" in tag else "linux_x86_64"
        assert problems[0].remedy == f"tag it {right}"
    problems = judged(conda(tmp_path, {"lib/libx.so": loading}, [RIGHT], subdir="linux-aarch64"))
    assert only(problems, "PKG-06").remedy == "tag it linux-64"


@spares("PKG-06")
def test_a_tag_that_says_nothing_known_is_not_judged(tmp_path: Path, loading: bytes) -> None:
    assert judged(wheel(tmp_path, files(loading), [RIGHT], tag="py3-none-plan9_x")) == ()


@pytest.mark.parametrize(
    ("runpath", "member", "found"),
    [
        (RUNPATH_13, "libx/lib64/libx.so", True),
        (f"$ORIGIN:{RUNPATH_13}/", "libx/lib64/libx.so", True),
        ("${ORIGIN}/../../nvidia/cu13/lib", "libx/lib64/libx.so", True),
        (RUNPATH_13, "libx-1.0.data/purelib/libx/lib64/libx.so", True),
        ("$ORIGIN", "nvidia/cu13/lib/libx.so", True),
        (RUNPATH_13, "libx/libx.so", False),
        ("$ORIGIN/../../nvidia/nvjitlink/lib", "libx/lib64/libx.so", False),
        ("/usr/local/cuda/lib64", "libx/lib64/libx.so", False),
        (None, "libx/lib64/libx.so", False),
    ],
)
@strikes("PKG-07")
@spares("PKG-07")
def test_runpath_has_to_reach_the_dependency(
    tmp_path: Path, runpath: str | None, member: str, found: bool
) -> None:
    host = library(tmp_path, needs=["libnvJitLink.so.13"], runpath=runpath)
    problems = judged(wheel(tmp_path, {member: host}, ["nvidia-nvjitlink>=13.3,<14"]))
    assert told(problems) == ({} if found else {"PKG-07": UNKNOWN})


@pytest.mark.parametrize(
    ("runpath", "folder", "beside", "expected"),
    [
        (None, "nvidia/cu13/lib", (), {"PKG-07": UNKNOWN}),  # as 13.0.48 and 13.0.88 are
        ("$ORIGIN", "nvidia/cu13/lib", (), {}),
        ("$ORIGIN/../lib64", "nvidia/cu13/lib", (), {"PKG-07": UNKNOWN}),
        (None, "libx/other", (), {}),  # it isn't known where another folder's is looked for
        (None, "nvidia/cu13/lib", ("torch",), {"PKG-07": OK}),
    ],
)
def test_nvrtc_finds_its_builtins_beside_itself(
    tmp_path: Path,
    runpath: str | None,
    folder: str,
    beside: tuple[str, ...],
    expected: dict[str, Verdict],
) -> None:
    """Tried: NVRTC 13.0.88 fails to open it (LD_DEBUG: system folders alone), 13.1.80 finds it."""
    members = {
        "nvidia/cu13/lib/libnvrtc.so.13": library(tmp_path, needs=[], runpath=runpath),
        f"{folder}/libnvrtc-builtins.so.13.0": library(tmp_path, needs=[]),
    }
    path = wheel(tmp_path, members)
    others = [Package(kind=Kind.INSTALLED, path=name, name=name) for name in beside]
    assert told(judged(path, others=others)) == expected


def test_the_printed_runpath_is_one_that_the_loader_takes(tmp_path: Path) -> None:
    """The remedy is built in and tried with the real loader, in a tree like site-packages."""
    import subprocess

    from libraries_made import build

    host = library(tmp_path, needs=["libnvJitLink.so.13"])
    problems = judged(wheel(tmp_path, {"libx/lib64/libx.so": host}, ["nvidia-nvjitlink>=13.3,<14"]))
    match = re.search(r"-rpath,'(.*)'", only(problems, "PKG-07").remedy)
    assert match is not None
    site = tmp_path / "site-packages"
    stub = build(site / "nvidia/cu13/lib/libnvJitLink.so.13")
    built = build(site / "libx/lib64/libx.so", needs=[stub], runpath=match[1])
    program = build(tmp_path / "opens", program=True)
    loaded = subprocess.run(
        [program, built], env={"LD_DEBUG": "libs"}, capture_output=True, text=True, check=False
    )
    assert f"calling init: {site}/libx/lib64/../../nvidia/cu13/lib/libnvJitLink" in loaded.stderr


def test_a_package_that_uses_pathfinder_may_load_it_first(tmp_path: Path) -> None:
    host = library(tmp_path, needs=["libnvJitLink.so.13"])
    path = wheel(tmp_path, files(host), ["nvidia-nvjitlink>=13.3,<14", "cuda-pathfinder"])
    assert told(judged(path)) == {"PKG-07": OK}


@strikes("PKG-08")
@spares("PKG-08")
def test_two_packages_with_one_nvjitlink_are_told(tmp_path: Path, opening: bytes) -> None:
    name = "nvidia/cu13/lib/libnvJitLink.so.13"
    path = wheel(tmp_path, {name: opening, "libx/x.ltoir": LTOIR_13_5})
    same = wheel(tmp_path, {name: opening}, name="nvidia-nvjitlink", version="13.5.37")
    other = wheel(tmp_path, {"liby/libnvJitLink.so.13": opening}, name="liby")
    third = wheel(tmp_path, {"libz/libnvJitLink.so.12": opening}, name="libz")
    problems = judged(path, others=packages_beside([same]))
    assert told(problems) == {"PKG-08": UNKNOWN}
    assert "libx 1.0 and nvidia-nvjitlink 13.5.37 overwrite each other's" in problems[0].message
    assert "both contain" in judged(path, others=packages_beside([other]))[0].message
    assert judged(path, others=packages_beside([third])) == ()


@strikes("PKG-17")
@spares("PKG-17")
def test_two_packages_that_write_one_library_are_told(tmp_path: Path, opening: bytes) -> None:
    """What a package puts beside another's files in one folder is no trouble."""
    for file in ("libx.so.12", "libx.so.12.4.1", "x.pyd", "x64_12.dll", "k.cubin", "k.ptx"):
        one, two = (wheel(tmp_path, {f"ort/{file}": opening}, name=name) for name in ("a", "b"))
        assert "PKG-17" in told(judged(one, others=packages_beside([two]))), file
    path = wheel(tmp_path, {"ort/_x.so": opening, "ort/__init__.py": b""}, name="ort")
    same = wheel(tmp_path, {"ort/_x.so": opening}, name="ort-gpu")
    spared = wheel(tmp_path, {"ort/_y.so": opening, "ort/__init__.py": b""}, name="ort-more")
    newer = wheel(tmp_path, {"ort/_x.so": opening}, name="ort", version="2.0")
    found = only(judged(path, others=packages_beside([same])), "PKG-17")
    assert found.verdict is UNKNOWN
    assert "ort 1.0 and ort-gpu 1.0 both install ort/_x.so" in found.message
    for others in ([spared], [newer]):
        assert "PKG-17" not in told(judged(path, others=packages_beside(others)))


@pytest.mark.parametrize(
    ("name", "needed", "verdict"),
    [
        ("x.libs/libcuda-43c1b388.so.570.124.06", "libcuda-43c1b388.so.570.124.06", FAIL),
        ("x/libcuda.so.1", "libcuda.so.1", UNKNOWN),
        ("x/nvcuda-9f3b1a2c.dll", "libc.so.6", OK),
        ("x/stubs/libcuda.so", "libcuda.so", None),
        ("x/libcuda_stub.so", "libcuda_stub.so", None),
        ("x/libcudart-c3a75b33.so.12.8.90", "libcudart-c3a75b33.so.12.8.90", None),
    ],
)
@strikes("PKG-20")
@spares("PKG-20")
def test_a_copy_of_the_drivers_library_is_told(
    tmp_path: Path, name: str, needed: str, verdict: Verdict | None
) -> None:
    """auditwheel copied it into nixl 0.3.0 and qiskit-aer-gpu 0.12.2; stubs are for linkers."""
    members = {name: library(tmp_path), "x/_x.so": library(tmp_path, needs=[needed])}
    assert told(judged(wheel(tmp_path, members))).get("PKG-20") is verdict


@pytest.mark.parametrize(
    ("builtins", "verdict"),
    [
        ("libnvrtc-builtins.so.12.4", None),
        ("libnvrtc-builtins.so.12.4.127", None),
        ("libnvrtc-builtins.so.12.6", FAIL),
        ("libnvrtc-builtins-1a2b3c4d.so.12.4", FAIL),
        ("libother.so", None),
    ],
)
@strikes("ENV-07")
@spares("ENV-07")
def test_a_compiler_in_a_wheel_has_its_builtins(
    tmp_path: Path, builtins: str, verdict: Verdict | None
) -> None:
    """NVRTC 12.4.127 opens libnvrtc-builtins.so.12.4 by that name alone."""
    nvrtc = library(tmp_path, opens=["libnvrtc-builtins.so.12.4"])
    members = {"x/libnvrtc-672ee683.so.12": nvrtc, f"x/{builtins}": library(tmp_path)}
    assert told(judged(wheel(tmp_path, members))).get("ENV-07") is verdict
    members["x/libx.so"] = library(tmp_path, needs=[builtins])  # which loads it with NVRTC
    same = builtins.endswith(".so.12.4")
    assert told(judged(wheel(tmp_path, members))).get("ENV-07") is (None if same else verdict)


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("nvidia-cublas-cu13", FAIL),
        ("nvidia-nvjitlink-cu13>=13", FAIL),
        ('nvidia-cuda-runtime-cu13; extra == "cuda"', UNKNOWN),
        ("nvidia-cuda-runtime-cu13==0.0.0a0", None),
        ("nvidia-cudnn-cu13", None),
        ("nvidia-cublas", None),
        ("nvidia-cublas-cu12", None),
        ("nvidia-modelopt-cu13", None),
    ],
)
@strikes("PKG-21")
@spares("PKG-21")
def test_an_empty_package_is_no_dependency(
    tmp_path: Path, opening: bytes, line: str, verdict: Verdict | None
) -> None:
    """Which names are real is what the table of packages with libraries says."""
    path = wheel(tmp_path, {"x/libx.so": opening}, [line], extras=["cuda"])
    assert told(judged(path)).get("PKG-21") is verdict


@pytest.mark.parametrize(
    ("requires", "verdict"),
    [
        (["nvidia-cusparse-cu12==12.1.0.106"], FAIL),
        (["nvidia-cusparse-cu12==12.3.1.170", "nvidia-nvjitlink-cu12>=12.1"], FAIL),
        (["nvidia-cusparse-cu12==12.3.1.170", "nvidia-nvjitlink-cu12==12.4.127"], None),
        (["nvidia-cusparse-cu12==12.3.1.170", "nvidia-nvjitlink-cu12>=12.4,<13"], None),
        (["nvidia-cusparse-cu12", "nvidia-nvjitlink-cu12"], None),
        (["nvidia-cusparse-cu12==12.0.0.76"], None),
        (["nvidia-cusparse-cu12>=12.1.2.141"], FAIL),  # jax 0.4.18 [cuda12_pip]; 0.4.19 mends it
        (["nvidia-cusparse-cu12>=12.1.2.141", "nvidia-nvjitlink-cu12>=12.2"], None),
        # tensorflow 2.20 [and-cuda]; no cuda-toolkit pins 12.5.1.3, which is of CUDA 12.5.1
        (["nvidia-cusparse-cu12>=12.5.1.3,<13", "nvidia-nvjitlink-cu12>=12.5.82,<13"], None),
        (["nvidia-cusparse-cu12>=12.5.1.3,<13", "nvidia-nvjitlink-cu12>=12.4,<13"], FAIL),
        (["nvidia-cusparse-cu12>=11,<13"], None),
        (["nvidia-cublas-cu12==12.4.5.8", "nvidia-nvjitlink-cu12"], None),
        (["cuda-toolkit[cusparse]==12.4.1"], FAIL),
        (["cuda-toolkit[cusparse]==12.*"], UNKNOWN),  # pip takes 12.9.2.0, unless it is held back
        (["cuda-toolkit[cusparse]>=12.9.2,<13"], None),  # which asks for nvJitLink, too
        (["cuda-toolkit[cusparse,nvjitlink]==12.*"], None),
        (["cuda-toolkit[cusparse]==12.*", "nvidia-nvjitlink-cu12>=12.9,<13"], None),
        (["cuda-toolkit[cusparse]==13.*"], None),
        (["nvidia-cusparse==12.8.2.51"], None),  # which imports none
        (["cuda-toolkit[cublas]==12.*"], None),
    ],
)
def test_a_pinned_cusparse_needs_the_nvjitlink_of_its_toolkit(
    tmp_path: Path, requires: list[str], verdict: Verdict | None
) -> None:
    """torch 2.4.1 pins cuSPARSE alone: pytorch issues 111469 and 131312."""
    path = wheel(tmp_path, {"x/libx.so": library(tmp_path)}, requires)
    assert told(judged(path)).get("NJL-06") is verdict
    for problem in judged(path):
        line = re.search(r"Requires-Dist: (.*)", problem.remedy)
        cured = wheel(
            tmp_path, {"x/libx.so": library(tmp_path)}, [*requires, line[1]] if line else []
        )
        assert "NJL-06" not in told(judged(cured))


def test_what_an_extra_brings_decides_nothing_beside_a_dependency_that_may_bring_it(
    tmp_path: Path,
) -> None:
    """tilelang 0.1.7.post3: its extra brings a compiler of CUDA 13, torch the runtime of 12."""
    members = {"x/libx.so": library(tmp_path, needs=["libcudart.so.12"])}
    extra = 'nvidia-cuda-nvcc>=13; extra == "nvcc"'
    beside = judged(wheel(tmp_path, members, ["torch<2.11", extra], extras=["nvcc"]))
    assert {problem.rule: problem.verdict for problem in beside} == {"PKG-01": OK, "PKG-04": OK}
    alone = judged(wheel(tmp_path, members, [extra], extras=["nvcc"]))
    assert FAIL in [problem.verdict for problem in alone if problem.rule == "PKG-04"]


def test_a_toolkit_of_two_majors_is_too_low_or_has_no_end(tmp_path: Path, loading: bytes) -> None:
    requires = ["cuda-toolkit[nvjitlink]>=12,<14"]
    low = judged(wheel(tmp_path, files(loading), requires))
    assert {problem.rule for problem in low} == {"NJL-06"}
    assert any(
        "the metadata also allow nvidia-nvjitlink-cu12, up to" in each_problem.message
        for each_problem in low
    )
    host = library(
        tmp_path, needs=["libnvJitLink.so.12"], runpath="$ORIGIN/../../nvidia/nvjitlink/lib"
    )
    high = judged(wheel(tmp_path, files(host), requires))
    assert told(high) == {"PKG-02": UNDOCUMENTED}
    assert high[0].message.startswith("the metadata allows nvidia-nvjitlink 13.x, but")


def test_conda_admits_both_majors_under_one_name(tmp_path: Path) -> None:
    for major, expected in ((13, {"NJL-06": FAIL}), (12, {"PKG-02": UNDOCUMENTED})):
        host = library(tmp_path, needs=[f"libnvJitLink.so.{major}"], runpath="$ORIGIN/.")
        path = conda(tmp_path, {"lib/libx.so": host}, ["libnvjitlink >=12,<14"])
        assert told(judged(path)) == expected


def test_conda_has_two_folders_of_libraries(tmp_path: Path) -> None:
    host = library(tmp_path, needs=["libnvJitLink.so.13"], runpath="$ORIGIN")
    depends = ["libnvjitlink >=13.0,<14"]
    for member, found in (
        ("lib/libx.so", True),
        ("targets/x86_64-linux/lib/libx.so", True),
        ("lib/python3.12/site-packages/x/libx.so", False),
    ):
        problems = judged(conda(tmp_path, {member: host}, depends))
        assert told(problems) == ({} if found else {"PKG-07": UNKNOWN})


@strikes("PKG-12")
@spares("PKG-12")
def test_a_package_given_beside_has_to_be_admitted(tmp_path: Path, loading: bytes) -> None:
    path = wheel(tmp_path, files(loading), ["nvidia-nvjitlink>=13.3,<14"])
    for version, expected in (("13.1.115", {"PKG-12": FAIL}), ("13.5.37", {})):
        other = wheel(tmp_path, {}, name="nvidia-nvjitlink", version=version)
        assert told(judged(path, others=packages_beside([other]))) == expected


def test_what_is_given_beside_has_to_be_a_package(tmp_path: Path) -> None:
    (tmp_path / "x.so").write_bytes(b"\x7fELF")
    with pytest.raises(UsageError, match=r"x\.so is not a package; give a wheel"):
        packages_beside([tmp_path / "x.so"])


@strikes("PKG-09")
@spares("PKG-09")
def test_promised_architectures_have_to_be_inside(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"libx/x.cubin": CUBIN_12_4})
    archs = (SmArch.parse("sm_80"), SmArch.parse("sm_90"))
    problems = judged(path, promise=Promise("pyproject.toml", sass=archs))
    assert told(problems) == {"PKG-09": FAIL}
    assert "SASS for sm_90 is promised, but libx 1.0 has SASS only for sm_80" in problems[0].message
    assert problems[0].remedy == 'compile for these architectures, or write sass = ["sm_80"]'
    assert judged(path, promise=Promise("pyproject.toml", sass=archs[:1])) == ()
    ptx = Promise("pyproject.toml", ptx=(SmArch.parse("compute_80"),))
    assert "has no PTX" in judged(path, promise=ptx)[0].message


@strikes("PKG-10")
@spares("PKG-10")
def test_a_promised_driver_has_to_be_new_enough(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"libx/x.cubin": CUBIN_13_5})
    old = Promise("p.toml", driver=DriverVersion((525, 60, 13)))
    problems = judged(path, promise=old)
    assert told(problems) == {"PKG-10": FAIL}
    assert problems[0].remedy == 'build with an older toolkit, or write driver = "580.65.06"'
    assert judged(path, promise=Promise("p.toml", driver=DriverVersion((580, 65, 6)))) == ()


def test_a_promised_nvjitlink_has_to_be_new_enough(tmp_path: Path, opening: bytes) -> None:
    path = wheel(tmp_path, files(opening, LTOIR_13_5), [RIGHT])
    problems = judged(path, promise=Promise("p.toml", nvjitlink=Release(13, 0)))
    assert told(problems) == {"PKG-10": FAIL}
    assert problems[0].remedy == 'write nvjitlink = "13.5"'
    assert judged(path, promise=Promise("p.toml", nvjitlink=Release(13, 5))) == ()


def test_wheels_of_windows_are_held_to_the_same(tmp_path: Path) -> None:
    """Its library imports __nvJitLinkCreate_12_4 of nvJitLink_120_0.dll."""
    members = {"libx/x.dll": image()}
    runtime = "nvidia-cuda-runtime-cu12"
    requires = ["nvidia-nvjitlink-cu12", runtime]
    bare = wheel(tmp_path, members, requires, tag="py3-none-win_amd64")
    problems = judged(bare)
    # It also has the name of an NVRTC to open.
    assert told(problems) == {"NJL-06": FAIL, "PKG-01": OK}
    assert problems[0].remedy == "write Requires-Dist: nvidia-nvjitlink-cu12>=12.4,<13"
    other = wheel(tmp_path, members, ["nvidia-nvjitlink-cu12>=12.4", runtime], tag=LINUX)
    assert told(judged(other)) == {"PKG-06": FAIL, "PKG-01": OK}
    assert judged(other)[0].remedy == "tag it win_amd64"


@strikes("PKG-11")
def test_metadata_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    problems = judged(wheel(tmp_path, {"libx/x.cubin": CUBIN_12_4}, ["]]]"]))
    assert told(problems) == {"PKG-11": UNKNOWN}


def packed(compression: str, sm: int = 80) -> bytes:
    """A fatbin with SASS of CUDA 12.4."""
    return region([entry(EntrySpec(KINDS["sass"], CUBIN_12_4, sm, compression=compression))])


@strikes("PKG-13")
def test_sass_that_the_first_drivers_of_its_major_refuse_breaks_the_name(tmp_path: Path) -> None:
    """Drivers before 550.54.14 can't unpack Zstandard; CUDA 12 begins with 525.60.13."""
    inside = {"libx/x.fatbin": packed("zstd")}
    problems = judged(wheel(tmp_path, inside, name="libx-cu12"))
    assert told(problems) == {"PKG-13": UNDOCUMENTED}
    assert problems[0].message == (
        "libx-cu12 needs driver 550.54.14 on sm_80, sm_86, sm_89 (FB-01), but "
        "the package is for CUDA 12 (cu12), and CUDA 12 drivers begin at 525.60.13"
    )
    required = wheel(tmp_path, inside, ["nvidia-cuda-runtime-cu12>=12.4"])
    assert "(Requires-Dist: nvidia-cuda-runtime-cu12>=12.4)" in judged(required)[0].message
    toolkit = wheel(tmp_path, inside, ["cuda-toolkit[nvrtc]==12.*"])
    assert told(judged(toolkit)) == {"PKG-13": UNDOCUMENTED}


@spares("PKG-13")
def test_sass_that_they_take_or_that_no_major_is_named_for_does_not(tmp_path: Path) -> None:
    for compression in ("lz4", "none"):
        inside = {"libx/x.fatbin": packed(compression)}
        assert judged(wheel(tmp_path, inside, name="libx-cu12")) == ()
    inside = {"libx/x.fatbin": packed("zstd")}
    assert judged(wheel(tmp_path, inside)) == ()
    assert judged(wheel(tmp_path, inside, name="libx-cu13")) == ()  # it begins with 580.65.06
    assert judged(wheel(tmp_path, inside, ["cuda-toolkit[nvrtc]>=12"])) == ()  # 13 as well
    promise = Promise("pyproject.toml", driver=DriverVersion((550, 54, 14)))
    assert judged(wheel(tmp_path, inside, name="libx-cu12"), promise=promise) == ()


@pytest.mark.parametrize(
    ("named", "inside", "differ"),
    [
        ("py3-none-manylinux_2_28_x86_64", ["py3-none-linux_x86_64"], False),  # CuPy's
        ("cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64", None, False),
        ("py2.py3-none-any", ["py3-none-any", "py2-none-any"], False),
        ("py3-none-manylinux_2_28_x86_64", ["py3-none-manylinux_2_28_aarch64"], True),
        ("py3-none-manylinux_2_28_x86_64", ["py3-none-any"], True),
        ("cp311-cp311-win_amd64", ["cp310-cp310-win_amd64"], True),
        ("py3-none-any", ["py3-none"], True),
        ("py3-none-any", ["py3--any"], True),
        ("py3-none-any", [], True),
    ],
)
def test_tags_inside_a_wheel_are_those_of_its_name(
    named: str, inside: list[str] | None, differ: bool, tmp_path: Path
) -> None:
    """Python, ABI and machine; after the installation pip check has WHEEL alone."""
    path = wheel(tmp_path, {}, tag=named)
    lines = [f"Tag: {tag}\n" for tag in (named.split() if inside is None else inside)]
    with zipfile.ZipFile(path) as made:
        members = {name: made.read(name) for name in made.namelist()}
    text = "".join(("Wheel-Version: 1.0\n", *lines)).encode()
    path.write_bytes(zip_of(*{**members, "libx-1.0.dist-info/WHEEL": text}.items()))
    assert told(judged(path)) == ({"PKG-06": UNDOCUMENTED} if differ else {})


@pytest.mark.parametrize("opened", ["libnvJitLink.so.", "libnvJitLink.so.{}", "libnvJitLink.so.%d"])
def test_a_name_that_is_put_together_is_asked_for(tmp_path: Path, opened: str) -> None:
    """libcudf-cu12 26.6.0 has the first one in its data, 26.8.1 the second one."""
    members = {"x/libx.so": library(tmp_path, opens=[opened])}
    found = only(judged(wheel(tmp_path, members, name="libx-cu12")), "PKG-01")
    assert (found.verdict, found.message) == (
        OK,
        "libx.so opens libnvJitLink.so, and no dependency installs nvJitLink",
    )
    brought = wheel(tmp_path, members, ["nvidia-nvjitlink-cu12>=12.9,<13"], name="libx-cu12")
    assert judged(brought) == ()
    assert judged(wheel(tmp_path, members)) == ()


def taking(folder: Path, source: str, *needs: str) -> bytes:
    """A library that calls puts of a libc with versions, as all real ones do, and something."""
    versions = folder / "versions"
    versions.write_text("GLIBC_2.2.5 { puts; };\n")
    flags = [f"-Wl,--version-script={versions}"]
    libc = build(folder / "libc.so.6", source="void puts(void) {}", flags=flags)
    stubs = [build(folder / "stubs" / name) for name in needs]
    source = f"void puts(void); void x(void) {{ puts(); }} {source}"
    open_names = ["-Wl,--unresolved-symbols=ignore-all"]
    path = folder / "libx.so"
    return build(path, needs=[libc, *stubs], flags=open_names, source=source).read_bytes()


SHM = "int shm_open(void); int y(void) { return shm_open(); }"
WEAK = "__attribute__((weak)) int shm_open(void); int y(void) { return shm_open(); }"


@pytest.mark.parametrize(
    ("source", "needs", "tag", "verdict"),
    [
        (SHM, [], "manylinux_2_27_x86_64", FAIL),
        (SHM, [], "manylinux1_x86_64.manylinux_2_34_x86_64", FAIL),
        (SHM, ["libm.so.6", "libstdc++.so.6", "libnear.so"], "manylinux2014_x86_64", FAIL),
        (SHM.replace("shm_open", "timer_create"), [], "manylinux_2_28_x86_64", FAIL),
        (SHM.replace("shm_open", "shm_open_mine"), [], "manylinux_2_28_x86_64", None),
        (WEAK, [], "manylinux_2_28_x86_64", None),
        (SHM, [], "manylinux_2_34_x86_64", None),
        (SHM, [], "linux_x86_64", None),
        (SHM, ["librt.so.1"], "manylinux_2_28_x86_64", None),
        (SHM, ["libcudart.so.12"], "manylinux_2_28_x86_64", None),
        (SHM, ["libfar.so"], "manylinux_2_28_x86_64", None),
    ],
)
@strikes("PKG-22")
@spares("PKG-22")
def test_a_name_of_librt_needs_librt_where_glibc_is_old(
    tmp_path: Path, source: str, needs: list[str], tag: str, verdict: Verdict | None
) -> None:
    """NVIDIA's libcufile.so.0 1.15.1.6 for Arm; that of x86-64, and the next one, have librt."""
    members = {
        "x/libx.so": taking(tmp_path, source, *needs),
        "x/libnear.so": library(tmp_path / "near"),
        "x/libfar.so": library(tmp_path / "far", needs=["librt.so.1"]),
    }
    found = judged(wheel(tmp_path, members, tag=f"py3-none-{tag}"))
    assert [each.verdict for each in found if each.rule == "PKG-22"] == [verdict] * bool(verdict)


def test_a_linker_that_sees_libc_writes_the_version(tmp_path: Path) -> None:
    """A library that gcc links with this system's libc, which has the names of librt since 2.34."""
    flags = ["-nodefaultlibs", "-lc", "-lrt"]
    data = build(tmp_path / "libx.so", source=SHM, flags=flags).read_bytes()
    found = judged(wheel(tmp_path, {"x/libx.so": data}))
    assert [each for each in found if each.rule == "PKG-22"] == []


def test_a_library_without_any_version_takes_names_from_anywhere(tmp_path: Path) -> None:
    """gcc -nostdlib writes no DT_VERSYM, where no library is named that has versions."""
    flags = ["-Wl,--unresolved-symbols=ignore-all"]
    data = build(tmp_path / "libx.so", source=SHM, flags=flags).read_bytes()
    found = judged(wheel(tmp_path, {"x/libx.so": data}))
    assert [each.verdict for each in found if each.rule == "PKG-22"] == [FAIL]


@needs_gcc
def test_a_library_that_a_tool_took_out_of_dt_needed_is_needed(tmp_path: Path) -> None:
    """As onnxruntime-gpu 1.11.1 for Linux has it: only DT_VERNEED names libcudart.so.11.0.

    Its build removes the tags, and a module of the package is to load the libraries before.
    """
    (script := tmp_path / "versions").write_text("libcudart.so.12 { global: *; };")
    flags = [f"-Wl,--version-script={script}"]
    runtime = tmp_path / "libcudart.so.12"
    build(runtime, source="void cudaFree(void) {}", flags=flags)
    calls = "void cudaFree(void); void f(void) { cudaFree(); }"
    data = build(tmp_path / "libx.so", source=calls, needs=[runtime]).read_bytes()
    debug, needed_then_soname = b"\x15", rb"\x01(\0{7}.{8}\x0e\0{7})"
    bare, number = re.subn(needed_then_soname, debug + rb"\1", data, flags=re.DOTALL)
    assert number == 1
    (path := tmp_path / "libx.so").write_bytes(bare)
    asked: list[str | Path] = ["readelf", "-dV", path]
    listed = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert "NEEDED)" not in listed.stdout
    assert "File: libcudart.so.12" in listed.stdout
    first, then = f"ctypes.CDLL({runtime.name!r}, 256)", f"ctypes.CDLL({str(path)!r})"
    environ = {"LD_LIBRARY_PATH": str(tmp_path)}
    for opened, loads in (([then], False), ([first, then], True)):
        command = [sys.executable, "-c", "\n".join(("import ctypes", *opened))]
        done = subprocess.run(command, capture_output=True, check=False, env=environ)
        assert (done.returncode == 0) is loads, done.stderr
    for content in (data, bare):
        problems = judged(wheel(tmp_path, {"x/libx.so": content}))
        assert told(problems) == {"PKG-01": UNKNOWN}
        assert "libx.so needs libcudart.so.12" in problems[0].message


def test_libc_has_the_names_of_librt_since_2_34() -> None:
    """By readelf on the libc of this system."""
    maps = Path("/proc/self/maps").read_text()
    (libc,) = {line.split()[-1] for line in maps.splitlines() if "libc.so.6" in line}
    asked = ["readelf", "--dyn-syms", "-W", libc]
    listed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    there = {
        name for name in re.findall(r" (\w+)@@GLIBC_2\.34", listed) if OF_LIBRT.fullmatch(name)
    }
    assert " ".join(sorted(there)) == (
        "aio_cancel aio_cancel64 aio_error aio_error64 aio_fsync aio_fsync64 aio_init aio_read "
        "aio_read64 aio_return aio_return64 aio_suspend aio_suspend64 aio_write aio_write64 "
        "lio_listio lio_listio64 mq_close mq_getattr mq_notify mq_open mq_receive mq_send "
        "mq_setattr mq_timedreceive mq_timedsend mq_unlink shm_open shm_unlink timer_create "
        "timer_delete timer_getoverrun timer_gettime timer_settime"
    )


@given(
    st.sampled_from([(12,), (13,), (12, 13)]),
    st.none() | st.builds(Release, st.sampled_from([12, 13]), st.integers(0, 9)),
)
def test_the_line_is_of_the_newest_major_that_files_ask_for(
    majors: tuple[int, ...], floor: Release | None
) -> None:
    """Variants for CUDA 12 and 13 need at least 12.0; the line that lets 14 in is of 13."""
    assume(floor is None or floor.major <= majors[-1])
    floors = (floor, floor)
    need = NeededCompiler("nvjitlink", Strength.LOADED, majors, *floors, "libx.so", Kind.WHEEL)
    line = Requirement(need.requirement)
    assert line.name == {12: "nvidia-nvjitlink-cu12", 13: "nvidia-nvjitlink"}[majors[-1]]
    assert {major for major in range(11, 16) if f"{major}.99" in line.specifier} == {majors[-1]}
