"""The GPUs of a machine: as the driver names them, else by what lies about in files."""

from __future__ import annotations

import re

from ltocompat.facts.gpus import find_gpu
from ltocompat.model.arch import SmArch
from ltocompat.model.errors import UsageError
from ltocompat.model.target import Gpu
from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.machine.driver_probe import Answers
from ltocompat.targets.machine.environment import Jetson, LocalGpu

_PROC = "/proc/driver/nvidia/gpus"
_MODEL = re.compile(r"^Model:\s*(\S.*?)\s*$", re.MULTILINE)


def gpus(machine: Machine, answers: Answers, board: Jetson | None) -> tuple[LocalGpu, ...]:
    """Every GPU; an architecture that the driver didn't tell is that of the name."""
    if answers.gpus:
        # nvidia-smi of Jetsons gives no compute capability; the board's model does.
        hint = board.model if board and board.model else ""
        return tuple(
            gpu if gpu.arch else LocalGpu(gpu.name, arch_of(gpu.name) or arch_of(hint), gpu.source)
            for gpu in answers.gpus
        )
    found = [
        LocalGpu(model[1], arch_of(model[1]), path)
        for path in machine.files(_PROC, "*/information")
        if (model := _MODEL.search(machine.text(path) or ""))
    ]
    if not found and board and board.model:
        found.append(LocalGpu(board.model, arch_of(board.model), "/proc/device-tree/model"))
    return tuple(found)


def known_gpu(name: str) -> Gpu | None:
    """The GPU of that name in our tables."""
    try:
        return find_gpu(name)
    except UsageError:
        return None


def arch_of(name: str) -> SmArch | None:
    """Its architecture, by our tables."""
    gpu = known_gpu(name)
    return gpu.arch if gpu else None
