"""Recorded machines: what a probe finds on each, in the words of those who run them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import machines
import pytest
from every_case import every
from libraries_made import build_libcuda, needs_gcc
from machines import CLOSED, MULTIARCH, Recorded, shared
from msgspec.structs import replace

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.environment import (
    Environment,
    Jetson,
    LocalGpu,
    UserDriver,
)
from ltocompat.rules.catalogue import found_about
from ltocompat.targets.linkers import Machine
from ltocompat.targets.machine.driver_probe import ask
from ltocompat.targets.machine.probe import probe
from ltocompat.targets.machine.save import target_of


def probed(made: Recorded, *, cache: bool = True) -> Environment:
    environment = probe(made.machine(cache=cache))
    assert environment.problems == ()
    return environment


def user(environment: Environment) -> UserDriver:
    assert environment.user_driver
    return environment.user_driver


@needs_gcc
def test_the_driver_itself_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = build_libcuda(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    answers = ask(Machine.here())
    assert (answers.cuda, answers.libcuda) == (Release(13, 0), str(folder / "libcuda.so.1"))


def test_a_plain_driver(tmp_path: Path) -> None:
    found = probed(machines.plain_driver(tmp_path))
    assert found.kernel_driver
    assert str(found.kernel_driver.version) == "580.95.05"
    assert found.kernel_driver.open is True
    assert found.kernel_driver.source == "/proc/driver/nvidia/version"
    driver = user(found)
    assert (driver.path, driver.found_by) == (f"{MULTIARCH}/libcuda.so.1", "ld.so.cache")
    assert driver.real == f"{MULTIARCH}/libcuda.so.580.95.05"
    assert (str(driver.version), driver.cuda) == ("580.95.05", Release(13, 0))
    assert (driver.cuda_source, driver.is_compat, driver.stub) == (
        "cuDriverGetVersion",
        False,
        False,
    )
    assert driver.missing == ()
    assert found.gpus == (LocalGpu("NVIDIA H100 80GB HBM3", SmArch(90), "nvidia-smi"),)
    assert (found.wsl2, found.jetson, found.container) == (False, None, None)


def test_an_image_without_a_cache_gets_what_ldconfig_will_enter(tmp_path: Path) -> None:
    made = machines.compat_by_conf(tmp_path)
    assert user(probed(made, cache=False)).found_by == "ld.so.conf"
    assert user(probed(made, cache=False)).version == user(probed(made)).version


def test_a_copy_under_its_soname_is_told_by_its_siblings(tmp_path: Path) -> None:
    made = machines.compat_by_library_path(tmp_path)
    folder = tmp_path / "usr/local/cuda-12.8/compat"
    (folder / "libcuda.so.1").unlink()
    (folder / "libcuda.so.570.86.15").rename(folder / "libcuda.so.1")
    assert str(user(probed(made)).version) == "570.86.15"


FOLDERS = ("/usr/local/cuda-12.8/compat", "/opt/forward", "/opt/compat", "/srv/cuda-compat/lib")
DRIVERS = {None: True, "570.86.15": False, "535.129.03": True, "580.95.05": True, "999.1.1": True}
NAMED = ("libcuda.so.570.86.15", "libcuda.so.1", "libcuda.so.1.1")


@every("kernel, by, name", itertools.product(DRIVERS, ["LD_LIBRARY_PATH", "ld.so.conf"], NAMED))
def test_a_libcuda_in_front_is_told_by_what_it_is_and_not_by_the_name_of_its_folder(
    tmp_path: Path, kernel: str | None, by: str, name: str
) -> None:
    """Drivers' own are of the kernel's version; without one, they lie where drivers put theirs."""
    answers = []
    for number, folder in enumerate(FOLDERS):
        made = Recorded(tmp_path / f"{kernel} {by} {name} {number}")
        made.environ["container"] = "image"
        if kernel:
            made.put("/proc/driver/nvidia/version", CLOSED.replace("535.129.03", kernel))
        note = {"format": 1, "CUDA version": "12.8", "driver": [535, 550], "device": [1, 2]}
        made.put(f"{folder}/{name}", shared("libcuda.so.1", note=note, needed=("libc.so.6",)))
        if name != "libcuda.so.1":
            made.link(f"{folder}/libcuda.so.1", name)
        if by == "LD_LIBRARY_PATH":
            made.environ[by] = folder
        made.put("/etc/ld.so.conf", f"{folder}\n" if by == "ld.so.conf" else "")
        found = probe(made.machine(cache=False))
        told = user(found)
        target = target_of(found)
        problems = found_about("Environment", found)
        bad = {each.rule: each.verdict for each in problems}
        answers.append(
            (told.is_compat, told.is_compat_package, target.compat and target.compat.values, bad)
        )
    assert all(answer == answers[0] for answer in answers[1:])
    expected = DRIVERS[kernel]
    assert answers[0][:2] == (expected, expected)
    assert answers[0][2] == ((Release(12, 8),) if expected else None)


@pytest.mark.parametrize("text", [b"{broken", b"[1]", b"", b"\xff" * 9, b"[" * 60_000])
def test_a_broken_note_is_a_problem_of_its_file_alone(tmp_path: Path, text: bytes) -> None:
    made = machines.compat_by_library_path(tmp_path)
    path = "/usr/local/cuda-12.8/compat/libcuda.so.570.86.15"
    made.put(path, shared("libcuda.so.1", note=text))
    found = probe(made.machine())
    assert [problem.partition(":")[0] for problem in found.problems] == [path]
    assert user(found).is_compat


def test_wsl2_has_the_driver_of_windows(tmp_path: Path) -> None:
    found = probed(machines.wsl2(tmp_path))
    assert found.wsl2
    assert str(found.system) == "wsl2"
    assert found.kernel_driver
    assert (str(found.kernel_driver.version), found.kernel_driver.source) == (
        "551.78",
        "nvidia-smi",
    )
    driver = user(found)
    assert (driver.path, driver.version) == ("/usr/lib/wsl/lib/libcuda.so.1", None)
    assert (driver.stub, driver.is_compat, driver.cuda) == (False, False, Release(12, 4))


def test_a_jetson_is_told_by_its_board(tmp_path: Path) -> None:
    found = probed(machines.jetson(tmp_path), cache=False)
    assert found.jetson == Jetson("36.4.3", "NVIDIA Jetson AGX Orin Developer Kit")
    assert found.system.machine == "aarch64"
    assert found.gpus == (
        LocalGpu("NVIDIA Jetson AGX Orin Developer Kit", SmArch(87), "/proc/device-tree/model"),
    )
    driver = user(found)
    assert driver.real == "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1"
    assert (driver.version, driver.stub, driver.is_compat) == (None, False, False)
    (gpu,) = target_of(found).gpus
    assert (gpu.tegra, gpu.data_center) == (True, True)


def test_a_jetson_is_told_by_its_packages_too(tmp_path: Path) -> None:
    made = machines.nothing(tmp_path)
    made.put(
        "/var/lib/dpkg/status",
        "Package: a\nVersion: 1\n\nPackage: nvidia-l4t-core\nStatus: install ok installed\n"
        "Version: 36.4.4-20250616085344\n",
    )
    assert probed(made).jetson == Jetson("36.4.4", None)


def test_a_stub_in_another_folder_is_told_by_its_name_and_what_it_needs(tmp_path: Path) -> None:
    made = Recorded(tmp_path, {"LD_LIBRARY_PATH": "/build/lib"})
    made.put("/build/lib/libcuda.so.1", shared("libcuda.so.1"))
    assert user(probed(made)).stub
    made = Recorded(tmp_path / "copy", {"LD_LIBRARY_PATH": "/build/stubs"})
    made.put("/build/stubs/libcuda.so.1", shared("libcuda.so.1", needed=("libc.so.6",)))
    assert not user(probed(made)).stub


def test_a_child_process_that_loads_another_libcuda_is_a_problem(tmp_path: Path) -> None:
    made = machines.plain_driver(tmp_path)
    made.commands["driver_probe_child.py"] = (
        '{"cuda": 12020, "libcuda": "/elsewhere/libcuda.so.535.1"}'
    )
    (problem,) = probe(made.machine()).problems
    assert problem.startswith("a child process loaded /elsewhere/libcuda.so.535.1, not ")


@pytest.mark.parametrize(
    "text", ["nonsense", "[]", '{"cuda": "x", "gpus": [1, ["a"]]}', "[" * 9999]
)
def test_odd_answers_of_commands_are_no_answers(tmp_path: Path, text: str) -> None:
    made = machines.plain_driver(tmp_path)
    made.commands |= {"driver_probe_child.py": text, "nvidia-smi": text}
    found = probed(made)
    assert (found.gpus, user(found).cuda) == ((), Release(13, 0))


def test_nvml_answers_where_nvidia_smi_is_missing(tmp_path: Path) -> None:
    made = machines.nothing(tmp_path)
    made.commands["driver_probe_child.py"] = (
        '{"driver": "580.65.06", "gpus": [["NVIDIA B200", 10, 0]]}'
    )
    found = probed(made)
    assert found.kernel_driver
    assert (str(found.kernel_driver.version), found.kernel_driver.source) == ("580.65.06", "NVML")
    assert found.gpus == (LocalGpu("NVIDIA B200", SmArch(100), "NVML"),)


def test_gpus_by_the_files_of_the_kernel_module(tmp_path: Path) -> None:
    made = machines.nothing(tmp_path)
    information = "Model: \t\t NVIDIA A100-SXM4-80GB\nIRQ:   \t\t 79\n"
    made.put("/proc/driver/nvidia/gpus/0000:01:00.0/information", information)
    made.put("/sys/module/nvidia/version", "550.54.15\n")
    found = probed(made)
    (gpu,) = found.gpus
    assert (gpu.name, gpu.arch) == ("NVIDIA A100-SXM4-80GB", SmArch(80))
    assert found.kernel_driver
    assert (str(found.kernel_driver.version), found.kernel_driver.open) == ("550.54.15", None)


def test_an_nvcc_that_is_a_script_leads_to_the_real_one(tmp_path: Path) -> None:
    made = Recorded(tmp_path, {"PATH": "/usr/bin"})
    made.put("/usr/bin/nvcc", '#!/bin/sh\nexec /usr/lib/nvidia-cuda-toolkit/bin/nvcc "$@"\n')
    made.put("/usr/lib/nvidia-cuda-toolkit/bin/nvcc", "\x7fELF")
    made.put("/usr/lib/nvidia-cuda-toolkit/include/cuda.h", "#define CUDA_VERSION 12040\n")
    (toolkit,) = probed(made).toolkits
    assert toolkit.root == "/usr/lib/nvidia-cuda-toolkit"
    assert (toolkit.version, toolkit.evidence, toolkit.reached) == ("12.4", "cuda.h", ("PATH",))


@pytest.mark.parametrize("made", machines.ALL)
@pytest.mark.parametrize("seed", range(3))
def test_broken_files_end_in_a_value(
    tmp_path: Path, made: Callable[[Path], Recorded], seed: int
) -> None:
    machine = made(tmp_path).machine()
    rng = random.Random(seed)  # noqa: S311 - the same mutations each time
    for file in sorted(tmp_path.rglob("*")):
        if file.is_file() and not file.is_symlink():
            data = bytearray(file.read_bytes())
            for _ in range(rng.choice([0, 1, 8])):
                if data:
                    data[rng.randrange(len(data))] = rng.randrange(256)
            file.write_bytes(data[: rng.choice([len(data), rng.randrange(len(data) + 1)])])
    found = probe(machine)
    assert all(problem.count("\n") == 0 for problem in found.problems)
    target_of(found)


def test_a_machine_that_has_no_memory_left_is_not_one_without_a_driver(tmp_path: Path) -> None:
    made = machines.plain_driver(tmp_path)

    def out_of_memory(_: Sequence[str]) -> str:
        raise MemoryError

    with pytest.raises(MemoryError):
        probe(replace(made.machine(), run=out_of_memory))
