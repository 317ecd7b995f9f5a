"""Requests to the CUDA driver, and its answers."""

from __future__ import annotations

import enum

from msgspec import Struct, convert
from msgspec.structs import replace

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.limits import GIB
from ltocompat.trial.protocol import Message
from ltocompat.trial.values import TrialAnswer, TrialLimits

# A kernel's argument: an ``int``, a ``float``, or the content of a buffer on the GPU.
Argument = int | float | bytes


class Launch(Struct, frozen=True):
    """A kernel to run once the module is loaded; one dimension is enough for a trial.

    Attributes:
        kernel: its name.
        blocks: number of blocks.
        threads: threads per block.
        arguments: in the kernel's order; the last buffer is returned.
    """

    kernel: str
    blocks: int
    threads: int
    arguments: tuple[Argument, ...]


class LoadRequest(Struct, frozen=True):
    """One module to load.

    Attributes:
        name: its name in reports.
        data: a cubin, PTX, or a whole stored fatbin region, from which the driver picks.
        kernels: the kernels to request, so that the driver loads them.
        gpu: index of the GPU.
        launch: a kernel to run; None to run nothing.
        file: the file of the module; a process serves modules of one file.
    """

    name: str
    data: bytes
    kernels: tuple[str, ...] = ()
    gpu: int = 0
    launch: Launch | None = None
    file: str | None = None


class LoadOutcome(enum.StrEnum):
    """The outcome of a load.

    Attributes:
        LOADED: all requested steps succeeded.
        REFUSED: the driver returned an error.
        CRASHED: the process ended without an answer.
        TIMED_OUT: the limit of wall-clock time or of CPU time was reached.
    """

    LOADED = "loaded"
    REFUSED = "refused"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"


class LoadStep(enum.StrEnum):
    """The last call of the driver that a load made.

    Attributes:
        START: cuInit and cuDevicePrimaryCtxRetain, which are independent of the module.
        LOAD: cuModuleLoadDataEx.
        FUNCTION: cuModuleGetFunction, and cuFuncLoad if kernels are loaded lazily.
        LAUNCH: cuLaunchKernel, and the copies of the buffers.
        UNLOAD: cuModuleUnload.
    """

    START = "start"
    LOAD = "load"
    FUNCTION = "function"
    LAUNCH = "launch"
    UNLOAD = "unload"


class LoadGpu(Struct, frozen=True):
    """A GPU that the driver shows.

    Attributes:
        index: its number in the driver (CUDA_VISIBLE_DEVICES applies).
        name: ``NVIDIA H100 80GB HBM3``.
        arch: its architecture, by its compute capability.
    """

    index: int
    name: str
    arch: SmArch


class LoadedDriver(Struct, frozen=True):
    """The user-mode driver of the trials.

    Attributes:
        library: path of the libcuda that was loaded.
        cuda: the CUDA release that it supports (cuDriverGetVersion).
        gpus: in the order of their index; at least one.
        lazy: True if it loads a kernel at its first use, the default since CUDA 12.2; else it loads
            a module as a whole.
    """

    library: str
    cuda: Release
    gpus: tuple[LoadGpu, ...]
    lazy: bool


class LoadAnswer(TrialAnswer, frozen=True, kw_only=True):
    """The answer of the driver to one request; its output is the launch's last buffer.

    Attributes:
        outcome: the outcome.
        step: the failed step, else the last requested one; its code is a CUresult of cuda.h.
        kernel: the kernel at which ``function`` or ``launch`` failed, else None.
        gpu: index of the GPU.
        gpu_name: its name.
        seconds: time in cuModuleLoadDataEx and cuModuleGetFunction; None without an answer.
    """

    PLACE = "kernel"

    outcome: LoadOutcome
    step: LoadStep
    kernel: str | None = None
    gpu: int
    gpu_name: str
    seconds: float | None = None


# PTX of a large library takes minutes to compile.
DEFAULT_LOAD_LIMITS = TrialLimits(cpu_seconds=300, wall_seconds=300.0, memory_bytes=32 * GIB)


# 0 is ``protocol.AT_REST``; the others are those of ``LoadStep``, in its order.
AT_START, AT_LOAD, AT_FUNCTION, AT_LAUNCH, AT_UNLOAD = range(1, 6)


def decode(message: Message) -> LoadRequest:
    """Reverse ``LoadPool.encode``; a zero byte follows the data, which PTX needs."""
    return replace(convert(message.fields, LoadRequest), data=message.pieces[0])
