"""Driver and GPUs of a machine, asked by nvidia-smi and a child process that loads the driver."""

from __future__ import annotations

import re
import sys

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.environment import Jetson, LocalGpu
from ltocompat.model.words import items_of, json_object
from ltocompat.targets.gpu_groups import known_gpu
from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.machine import driver_probe_child
from ltocompat.targets.versions.drivers import driver_version

_QUERY = ("--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader")


class Answers(Struct, frozen=True):
    """Answers of the driver about itself.

    Attributes:
        cuda: the CUDA release of libcuda, by cuDriverGetVersion.
        libcuda: the file that a child process loaded.
        driver: the kernel driver.
        driver_source: the source of that.
        gpus: the GPUs.
    """

    cuda: Release | None = None
    libcuda: str | None = None
    driver: str | None = None
    driver_source: str = ""
    gpus: tuple[LocalGpu, ...] = ()


def ask(machine: Machine) -> Answers:
    """Ask a child process that loads libcuda and NVML, and nvidia-smi."""
    # Isolated (-I): neither this folder nor PYTHONPATH counts; the loader's variables do.
    program = [machine.python or sys.executable, "-I", driver_probe_child.__file__]
    child = json_object(machine.run(program))
    gpus, driver = _smi(machine)
    by_nvml = child.get("driver")
    libcuda = child.get("libcuda")
    return Answers(
        cuda=_release(child.get("cuda")),
        libcuda=libcuda if isinstance(libcuda, str) else None,
        driver=driver or (by_nvml if isinstance(by_nvml, str) and by_nvml else None),
        driver_source="nvidia-smi" if driver else "NVML",
        gpus=gpus or _gpus(child.get("gpus")),
    )


def _release(code: object) -> Release | None:
    """cuda.h: 1000 * major + 10 * minor."""
    return Release(code // 1000, code % 1000 // 10) if isinstance(code, int) and code > 0 else None


def _gpus(rows: object) -> tuple[LocalGpu, ...]:
    found = []
    for row in items_of(rows, list):
        match row:
            case [str(name), int(major), int(minor)]:
                arch = SmArch(10 * major + minor) if major > 0 else None
                found.append(LocalGpu(name, arch, "NVML"))
    return tuple(found)


def _smi(machine: Machine) -> tuple[tuple[LocalGpu, ...], str | None]:
    """GPUs and the kernel driver; nothing from before driver 510, which knows no compute_cap."""
    gpus, driver = [], None
    for program in ("nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"):
        for line in machine.run([program, *_QUERY]).splitlines():
            parts = [part.strip() for part in line.rsplit(",", 2)]
            if len(parts) != 3 or driver_version(parts[2]) is None:
                continue
            major, _, minor = parts[1].partition(".")
            known = major.isdecimal() and minor.isdecimal() and len(major + minor) < 5
            arch = SmArch(10 * int(major) + int(minor)) if known else None
            gpus.append(LocalGpu(parts[0], arch, "nvidia-smi"))
            driver = parts[2]
        if gpus:
            break
    return tuple(gpus), driver


_PROC = "/proc/driver/nvidia/gpus"
_MODEL = re.compile(r"^Model:\s*(\S.*?)\s*$", re.MULTILINE)


def gpus(machine: Machine, answers: Answers, board: Jetson | None) -> tuple[LocalGpu, ...]:
    """Return every GPU; if the driver gives no architecture, by its name."""
    if answers.gpus:
        # nvidia-smi of Jetsons gives no compute capability; the board's model does.
        hint = board.model if board and board.model else ""
        return tuple(
            replace(gpu, arch=gpu.arch or _arch_of(gpu.name) or _arch_of(hint))
            for gpu in answers.gpus
        )
    found = [
        LocalGpu(model[1], _arch_of(model[1]), path)
        for path in machine.files(_PROC, "*/information")
        if (model := _MODEL.search(machine.text(path) or ""))
    ]
    if not found and board and board.model:
        found.append(LocalGpu(board.model, _arch_of(board.model), "/proc/device-tree/model"))
    return tuple(found)


def _arch_of(name: str) -> SmArch | None:
    """Its architecture, by our tables."""
    gpu = known_gpu(name)
    return gpu.arch if gpu else None
