"""Rules on machines: recorded trees of real ones, with one thing wrong each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import machines
import pytest
from every_case import every
from machines import CLOSED, IN_WHEEL, MULTIARCH, OPEN, SITE, Recorded, banner, library, shared
from rule_cases import spares, strikes

from ltocompat.model.environment import Environment
from ltocompat.model.verdict import Level, Verdict
from ltocompat.rules.catalogue import found_about
from ltocompat.rules.rule import Problem
from ltocompat.targets.machine.probe import probe
from ltocompat.targets.versions.container import ContainerHost, satisfied

OK, UNKNOWN, FAIL = Verdict.OK, Verdict.UNKNOWN, Verdict.FAIL


def problems(environment: Environment) -> list[Problem]:
    found = list(found_about("Environment", environment))
    for problem in found:
        assert problem.message
        assert problem.remedy
        assert problem.evidence
        assert not problem.message.endswith(".")
        assert problem.verdict in (OK, UNKNOWN, FAIL)
    return found


def found(made: Recorded, *, cache: bool = True) -> dict[str, Problem]:
    """Each rule speaks once at most; that a branch ended is left out, as more of them will."""
    every = problems(probe(made.machine(cache=cache)))
    several = [problem for problem in every if problem.rule != "ENV-10"]
    answer = {problem.rule: problem for problem in several}
    assert len(answer) == len(several)
    return answer


def verdicts(made: Recorded, *, cache: bool = True) -> dict[str, Verdict]:
    return {name: problem.verdict for name, problem in found(made, cache=cache).items()}


def package(made: Recorded, name: str, version: str) -> None:
    stem = f"{name.replace('-', '_')}-{version}.dist-info"
    made.put(
        f"{SITE}/{stem}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    )


def nvrtc(made: Recorded, folder: str, version: str, builtins: str | None = None) -> None:
    major, minor, _ = version.split(".")
    made.put(f"{folder}/libnvrtc.so.{major}", shared(f"libnvrtc.so.{major}", banner(version)))
    beside = builtins or f"{major}.{minor}"
    if beside != "none":
        name = f"libnvrtc-builtins.so.{beside}"
        made.put(f"{folder}/{name}", shared(name))


def wheels(root: Path, linker: str, compiler: str) -> Recorded:
    """A virtual environment with wheels of CUDA 12 over driver 580 (CUDA 13.0)."""
    made = machines.plain_driver(root)
    made.environ["VIRTUAL_ENV"] = "/home/u/venv"
    made.put(f"{SITE}/{IN_WHEEL['12']}", library(linker))
    nvrtc(made, f"{SITE}/nvidia/cuda_nvrtc/lib", compiler)
    return made


@pytest.mark.parametrize(
    "make",
    [
        machines.plain_driver,
        machines.compat_installed,
        machines.wsl2,
        machines.jetson,
        machines.cuda_container,
        machines.conda,
        machines.nothing,
    ],
)
@spares("DRV-05", "PTX-08", "CMP-04", "CMP-05", "CMP-06", "NJL-07", "ENV-02", "ENV-04", "ENV-08")
def test_sound_machines_have_no_flaw(make: Callable[[Path], Recorded], tmp_path: Path) -> None:
    made = make(tmp_path)
    assert not verdicts(made)


@spares("ENV-05", "ENV-06", "ENV-07")
def test_a_sound_set_of_wheels_has_no_flaw(tmp_path: Path) -> None:
    assert not verdicts(wheels(tmp_path, "12.9.86", "12.9.86"))
    assert not verdicts(wheels(tmp_path / "newer", "12.9.86", "12.4.127"))


@pytest.mark.parametrize("make", [machines.compat_by_library_path, machines.compat_by_conf])
@strikes("CMP-06")
def test_compat_in_front_is_noted(make: Callable[[Path], Recorded], tmp_path: Path) -> None:
    """Whether the pair works is for CMP-01 to CMP-03 and a target to say."""
    table = found(make(tmp_path))
    assert {name: problem.verdict for name, problem in table.items()} == {
        "CMP-04": OK,
        "CMP-06": OK,
        "ENV-02": OK,
    }
    assert (
        "kernel driver 535.129.03 is from CUDA 12.2, but libcuda is from 12.8"
        in table["ENV-02"].message
    )


@strikes("CMP-04")
def test_an_image_that_lists_compat_is_wrong_for_some_hosts(tmp_path: Path) -> None:
    made = Recorded(tmp_path)
    made.put("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    made.put("/etc/ld.so.conf.d/000_compat.conf", "/usr/local/cuda-12.8/compat\n")
    made.driver("/usr/local/cuda-12.8/compat", "570.86.15")
    table = found(made, cache=False)
    assert table["CMP-04"].verdict is UNKNOWN
    assert "000_compat.conf, the loader finds the libcuda 570.86.15" in table["CMP-04"].message


@pytest.mark.parametrize(("variable", "verdict"), [("/usr/local/cuda/compat", UNKNOWN), (None, OK)])
@strikes("CMP-05")
def test_compat_without_its_compilers(
    tmp_path: Path, variable: str | None, verdict: Verdict
) -> None:
    made = machines.compat_installed(tmp_path)
    (tmp_path / "usr/local/cuda-12.8/compat/libnvidia-ptxjitcompiler.so.570.86.15").unlink()
    (tmp_path / "usr/local/cuda-12.8/compat/libnvidia-ptxjitcompiler.so.1").unlink()
    if variable:
        made.environ["LD_LIBRARY_PATH"] = variable
    problem = found(made)["CMP-05"]
    assert problem.verdict is verdict
    assert "has no libnvidia-ptxjitcompiler in its folder" in problem.message


def test_compat_mixed_of_two_packages(tmp_path: Path) -> None:
    made = machines.compat_by_library_path(tmp_path)
    folder = tmp_path / "usr/local/cuda-12.8/compat"
    (folder / "libnvidia-nvvm.so.4").unlink()
    (folder / "libnvidia-nvvm.so.570.86.15").rename(folder / "libnvidia-nvvm.so.575.57.08")
    problem = found(made)["CMP-05"]
    assert problem.verdict is UNKNOWN
    assert "is 570.86.15, but libnvidia-nvvm in its folder is 575.57.08" in problem.message


@pytest.mark.parametrize("value", ["1", "true", "0", ""])
@strikes("PTX-08")
def test_a_forbidden_ptx_compiler(tmp_path: Path, value: str) -> None:
    made = machines.plain_driver(tmp_path)
    made.environ["CUDA_DISABLE_PTX_JIT"] = value
    assert verdicts(made) == ({"PTX-08": UNKNOWN} if value in ("1", "true") else {})


def test_a_driver_without_its_ptx_compiler(tmp_path: Path) -> None:
    made = machines.plain_driver(tmp_path)
    for path in (tmp_path / MULTIARCH.lstrip("/")).glob("libnvidia-ptxjitcompiler*"):
        path.unlink()
    table = found(made)
    assert table.keys() == {"PTX-08"}
    assert "error 221" in table["PTX-08"].message


@strikes("DRV-05")
def test_the_open_module_and_an_old_gpu(tmp_path: Path) -> None:
    made = machines.plain_driver(tmp_path)
    made.smi("Tesla V100-SXM2-16GB, 7.0, 580.95.05", "Tesla T4, 7.5, 580.95.05")
    table = found(made)
    assert table.keys() == {"DRV-05"}
    assert table["DRV-05"].verdict is FAIL
    assert "Tesla V100-SXM2-16GB (compute capability 7.0)" in table["DRV-05"].message
    made.put("/proc/driver/nvidia/version", OPEN.replace(" Open", "").replace("for x86_64 ", ""))
    assert not verdicts(made)


@strikes("ENV-04")
def test_a_stub_in_front(tmp_path: Path) -> None:
    table = found(machines.stub_first(tmp_path))
    assert table.keys() == {"ENV-04"}
    assert table["ENV-04"].verdict is FAIL
    assert "via LD_LIBRARY_PATH" in table["ENV-04"].message


@pytest.mark.parametrize(
    ("libcuda", "verdict"), [("575.57.08", FAIL), ("580.65.06", FAIL), ("580.105.08", UNKNOWN)]
)
@strikes("ENV-02", "ENV-08")
def test_halves_of_two_drivers(tmp_path: Path, libcuda: str, verdict: Verdict) -> None:
    """580.95.05 over 580.159.04 was seen to fail with 803; newer over older is another matter."""
    made = Recorded(tmp_path)
    made.put("/proc/driver/nvidia/version", OPEN)
    made.put(f"{MULTIARCH}/libc.so.6", shared("libc.so.6"))
    made.driver(MULTIARCH, libcuda)
    made.cached.append(f"{MULTIARCH}/libcuda.so.1")
    table = found(made)
    assert table.keys() - {"ENV-02"} == {"ENV-08"}
    assert table["ENV-08"].verdict is verdict
    assert "error 803" in table["ENV-08"].message


@pytest.mark.parametrize(
    ("linker", "compiler", "wrong"),
    [("12.4.127", "12.9.86", True), ("12.4.99", "12.4.127", False), ("12.9.86", "12.0.140", False)],
)
@strikes("ENV-05")
def test_a_compiler_newer_than_the_linker(
    tmp_path: Path, linker: str, compiler: str, *, wrong: bool
) -> None:
    made = wheels(tmp_path, linker, compiler)
    table = found(made)
    assert table.keys() == ({"ENV-05"} if wrong else set())
    if wrong:
        assert table["ENV-05"].verdict is UNKNOWN
        assert "NVRTC 12.9.86 is newer than nvJitLink 12.4.127" in table["ENV-05"].message
        assert "nvidia-nvjitlink-cu12>=12.9,<13" in table["ENV-05"].remedy


def test_libnvvm_newer_than_linker_and_driver(tmp_path: Path) -> None:
    made = machines.compat_installed(tmp_path)
    made.environ["VIRTUAL_ENV"] = "/home/u/venv"
    made.put(f"{SITE}/{IN_WHEEL['12']}", library("12.2.140"))
    made.put(
        f"{SITE}/nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so.4",
        shared("libnvvm.so.4", banner("12.8.93")),
    )
    table = found(made)
    assert {name: problem.verdict for name, problem in table.items()} == {
        "ENV-05": UNKNOWN,
        "ENV-06": UNKNOWN,
    }
    assert "writes PTX 8.7, but the CUDA 12.2 driver reads PTX up to 8.2" in table["ENV-06"].message
    assert "a CUDA 12.8 driver" in table["ENV-06"].remedy


@pytest.mark.parametrize(
    ("driver", "compiler", "wrong"),
    [
        ("555.42.06", "12.6.85", False),
        ("550.54.15", "12.6.85", True),
        ("550.54.15", "12.4.127", False),
    ],
)
@strikes("ENV-06")
def test_nvrtc_newer_than_the_driver_is_noted_by_its_ptx(
    tmp_path: Path, driver: str, compiler: str, *, wrong: bool
) -> None:
    """CUDA 12.6 still writes PTX 8.5, which drivers of 12.5 read."""
    made = Recorded(tmp_path, {"VIRTUAL_ENV": "/home/u/venv"})
    made.put("/proc/driver/nvidia/version", CLOSED.replace("535.129.03", driver))
    made.put(f"{MULTIARCH}/libc.so.6", shared("libc.so.6"))
    made.driver(MULTIARCH, driver)
    made.cached.append(f"{MULTIARCH}/libcuda.so.1")
    nvrtc(made, f"{SITE}/nvidia/cuda_nvrtc/lib", compiler)
    assert verdicts(made) == ({"ENV-06": OK} if wrong else {})
    # The loader of the system finds the same file there, of which nothing is said twice.
    made.environ["LD_LIBRARY_PATH"] = f"{SITE}/nvidia/cuda_nvrtc/lib"
    assert verdicts(made) == ({"ENV-06": OK} if wrong else {})


@pytest.mark.parametrize(
    ("compiler", "wheel", "system", "verdict"),
    [
        ("12.6.85", "12.6.77", "13.0", None),  # the wheel comes first
        ("12.6.85", None, None, None),
        ("12.6.85", "12.4.127", None, OK),
        ("12.6.85", None, "12.9", OK),
        ("12.6.85", None, "13.0", UNKNOWN),  # measured: cuda_fp8.h of 13.0 with NVRTC 12.9
    ],
)
@strikes("ENV-09")
@spares("ENV-09")
def test_headers_of_another_release_than_nvrtc(
    tmp_path: Path, compiler: str, wheel: str | None, system: str | None, verdict: Verdict | None
) -> None:
    made = machines.plain_driver(tmp_path)
    made.environ["VIRTUAL_ENV"] = "/home/u/venv"
    nvrtc(made, f"{SITE}/nvidia/cuda_nvrtc/lib", compiler)
    if wheel:
        package(made, "nvidia-cuda-runtime-cu12", wheel)
    if system:
        made.put("/usr/local/cuda/version.json", json.dumps({"cuda": {"version": f"{system}.1"}}))
    table = found(made)
    assert table.get("ENV-09") is None or table["ENV-09"].verdict is verdict
    assert ("ENV-09" in table) is (verdict is not None)
    if verdict is not None:
        assert f"uses the headers of CUDA {system or '12.4'}" in table["ENV-09"].message
        assert "nvidia-cuda-runtime-cu12==12.6.*" in table["ENV-09"].remedy


@pytest.mark.parametrize(("builtins", "verdict"), [("12.4", FAIL), ("none", UNKNOWN)])
@strikes("ENV-07")
def test_builtins_of_another_minor(tmp_path: Path, builtins: str, verdict: Verdict) -> None:
    made = machines.plain_driver(tmp_path)
    made.environ["VIRTUAL_ENV"] = "/home/u/venv"
    nvrtc(made, f"{SITE}/nvidia/cuda_nvrtc/lib", "12.6.85", builtins)
    table = found(made)
    assert table.keys() == {"ENV-07"}
    assert table["ENV-07"].verdict is verdict
    assert "needs libnvrtc-builtins.so.12.6" in table["ENV-07"].message


def test_one_soname_and_two_copies(tmp_path: Path) -> None:
    made = machines.plain_driver(tmp_path)
    made.environ |= {"VIRTUAL_ENV": "/home/u/venv", "LD_LIBRARY_PATH": "/old"}
    made.put("/old/libnvJitLink.so.12", library("12.4.127"))
    made.put(f"{SITE}/{IN_WHEEL['12']}", library("12.9.86"))
    table = found(made)
    assert table.keys() == {"NJL-02"}
    assert table["NJL-02"].verdict is UNKNOWN
    assert table["NJL-02"].message == (
        "two copies of libnvJitLink.so.12: ld.so finds 12.4.127 (LD_LIBRARY_PATH), cuda-pathfinder "
        "finds 12.9.86 (site-packages)"
    )
    (tmp_path / "old/libnvJitLink.so.12").write_bytes(library("12.9.86"))
    assert not verdicts(made)


@strikes("NJL-07")
def test_two_majors_are_noted_and_loud_where_they_meet(tmp_path: Path) -> None:
    made = machines.two_nvjitlinks(tmp_path)
    assert found(made)["NJL-07"].verdict is OK
    nvrtc(made, f"{SITE}/nvidia/cuda_nvrtc/lib", "12.9.86")
    problem = found(made)["NJL-07"]
    assert problem.verdict is UNKNOWN
    assert "cuda-pathfinder finds NVRTC 12.9.86 and nvJitLink 13.0.88 first" in problem.message


@pytest.mark.parametrize(
    ("package_name", "version", "linker", "said"),
    [
        # A newer driver runs what an older nvJitLink makes, and cuda.core takes it.
        ("cuda-core", "1.2.2", "12.9.86", None),
        ("numba-cuda", "0.30.4", "12.9.86", None),
        ("cuda-core", "1.2.2", "13.0.88", None),
        ("cuda-core", "1.2.2", "12.2.140", "cuda-core 1.2.2 will link with the driver"),
        ("cuda-core", "1.2.2", "12.3.101", None),
        (
            "cuda-core",
            "9.9",
            None,
            "cuda-core 9.9 will link with the driver, which refuses LTO-IR: no",
        ),
        ("numba-cuda", "0.16.0", None, "numba-cuda 0.16.0 will link with the driver"),
        ("numba-cuda", "0.15.2", None, None),  # pynvjitlink, or the driver
        ("cupy-cuda12x", "13.6.0", "12.2.140", None),
    ],
)
@strikes("LTO-10")
@spares("LTO-10")
def test_clients_that_take_the_nvjitlink_that_they_find(
    tmp_path: Path, package_name: str, version: str, linker: str | None, said: str | None
) -> None:
    made = machines.plain_driver(tmp_path)
    made.environ["VIRTUAL_ENV"] = "/home/u/venv"
    if linker is not None:
        major = linker[:2]
        made.put(f"{SITE}/{IN_WHEEL[major]}", library(linker, soname=f"libnvJitLink.so.{major}"))
    package(made, package_name, version)
    table = found(made)
    assert table.keys() - {"NJL-03"} == ({"LTO-10"} if said else set())
    if said:
        assert table["LTO-10"].message.startswith(said)
        assert (table["LTO-10"].verdict, table["LTO-10"].level) == (OK, Level.NOTE)


def test_what_clients_link_with_a_newer_major_may_not_load(tmp_path: Path) -> None:
    made = machines.plain_driver(tmp_path)
    made.environ["VIRTUAL_ENV"] = "/home/u/venv"
    made.commands["driver_probe_child.py"] = json.dumps({"cuda": 12040, "libcuda": None})
    made.put(f"{SITE}/{IN_WHEEL['13']}", library("13.0.88", soname="libnvJitLink.so.13"))
    package(made, "cuda-core", "1.2.2")
    problem = found(made)["LTO-10"]
    assert (problem.verdict, problem.level) == (UNKNOWN, None)
    assert "a CUDA 12.4 driver: the result is code of CUDA 13, which needs" in problem.message


@pytest.mark.parametrize(
    ("home", "wheel", "verdict"),
    [("12.4", "12.4.127", None), ("12.4", "12.9.86", OK), ("13.0", "12.9.86", UNKNOWN)],
)
@strikes("ENV-03")
@spares("ENV-03")
def test_toolkits_that_were_chosen_by_hand(
    tmp_path: Path, home: str, wheel: str, verdict: Verdict | None
) -> None:
    made = machines.plain_driver(tmp_path)
    made.environ |= {"VIRTUAL_ENV": "/home/u/venv", "CUDA_HOME": f"/usr/local/cuda-{home}"}
    made.put(f"/usr/local/cuda-{home}/version.json", json.dumps({"cuda": {"version": f"{home}.1"}}))
    package(made, "nvidia-cuda-nvrtc-cu12", wheel)
    package(made, "nvidia-cublas-cu12", "12.1.3.1")  # its number is no toolkit's
    assert verdicts(made) == ({} if verdict is None else {"ENV-03": verdict})


@pytest.mark.parametrize("where", ["/nvvm/lib64/libnvvm.so.4", "/lib64/libnvvm.so.4", None])
@strikes("BLD-06")
@spares("BLD-06")
def test_nvlink_looks_for_libnvvm_in_one_place(tmp_path: Path, where: str | None) -> None:
    made = machines.plain_driver(tmp_path)
    made.put("/usr/local/cuda-13.0/bin/nvlink", "#!/bin/sh\n")
    if where:
        made.put(f"/usr/local/cuda-13.0{where}", shared("libnvvm.so.4", banner("13.0.88")))
    right = bool(where and where.startswith("/nvvm"))
    assert verdicts(made) == ({} if right else {"BLD-06": OK})


HOST = ContainerHost(cuda="12.2", driver="535.129.03", archs=("8.0",), brands=("tesla",))


@every(
    "text, answer",
    [
        ("cuda>=12.2", True),
        ("cuda>=12.4", False),
        ("cuda<12.4", True),
        ("cuda=12.2", True),
        ("cuda!=12.2", False),
        ("cuda>=12.2.0", True),  # zeros at the end count for nothing
        ("cuda>=12.4 driver>=535", True),
        ("cuda>=12.4 brand=tesla,driver>=470,driver<471", False),
        ("cuda>=12.4 brand=tesla,driver>=535,driver<536", True),
        ("cuda>=12.4 brand=TESLA,driver>=535,driver<536 brand=grid,driver>=535", True),
        ("cuda>=12.4  ", False),
        ("arch>=7.5,cuda>=12.0", True),
        ("arch>=9.0", False),
        ("driver>535.129.03", False),
        ("driver>=535.129.3", True),
        ("CUDA>=12.0", True),
    ],
)
def test_the_language_of_requirements(text: str, answer: bool) -> None:
    """Expected by reading src/cli/dsl.c of libnvidia-container."""
    assert satisfied(text, HOST) is answer


@pytest.mark.parametrize("text", ["cuda", "cuda>=", ">=12", "cuda=>12", "speed>1", "brand<tesla"])
def test_what_cannot_be_read_is_said(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        satisfied(text, HOST)


@pytest.mark.parametrize(
    ("text", "more", "verdict"),
    [
        ("cuda>=12.4 brand=tesla,driver>=470,driver<471", {}, None),
        ("cuda>=13.4 brand=tesla,driver>=470,driver<471", {}, FAIL),
        ("cuda>=13.4", {"NVIDIA_DISABLE_REQUIRE": "1"}, UNKNOWN),
        ("cuda>=13.4", {"NVIDIA_DISABLE_REQUIRE": "false"}, FAIL),
        ("cuda>=13.4 brand=geforce", {}, FAIL),
        ("cuda~13", {}, UNKNOWN),
        ("", {}, None),
    ],
)
@strikes("ENV-01")
@spares("ENV-01")
def test_what_an_image_asks_of_its_host(
    tmp_path: Path, text: str, more: dict[str, str], verdict: Verdict | None
) -> None:
    made = machines.plain_driver(tmp_path)
    made.smi("Tesla T4, 7.5, 580.95.05")
    made.environ |= {"NVIDIA_REQUIRE_CUDA": text, **more}
    table = found(made)
    assert {name: problem.verdict for name, problem in table.items()} == (
        {} if verdict is None else {"ENV-01": verdict}
    )
    if verdict is not None:
        message = table["ENV-01"].message
        assert message.startswith(f"the image requires {text.split(maxsplit=1)[0]}")
        assert "(NVIDIA_REQUIRE_CUDA)" in message
        assert verdict is not FAIL or "driver 580.95.05 of CUDA 13.0" in message


def test_an_image_by_itself_only_says_what_it_asks(tmp_path: Path) -> None:
    made = Recorded(tmp_path, {"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"})
    assert verdicts(made) == {"ENV-01": OK}
    said = found(made)["ENV-01"].message
    assert said.startswith("the image requires cuda>=12.4 (NVIDIA_REQUIRE_CUDA), which depends")


@pytest.mark.parametrize(
    ("driver", "told"),
    [("535.129.03", "2026-06"), ("610.43.02", "2026-08"), ("580.95.05", None), ("550.54.14", None)],
)
@strikes("ENV-10")
@spares("ENV-10")
def test_a_driver_of_a_branch_that_has_ended(tmp_path: Path, driver: str, told: str | None) -> None:
    """The months are those of NVIDIA's list, edition r615; R550 stands in none."""
    made = machines.plain_driver(tmp_path)
    made.put("/proc/driver/nvidia/version", CLOSED.replace("535.129.03", driver))
    ended = [p for p in problems(probe(made.machine())) if p.rule == "ENV-10"]
    assert [f"since {told}" in problem.message for problem in ended] == [True] * bool(told)
    assert all("R580 (LTS, to 2028-06)" in problem.remedy for problem in ended)
