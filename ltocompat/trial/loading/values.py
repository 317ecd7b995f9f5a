"""What is asked of the CUDA driver, and what came of it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.limits import GIB
from ltocompat.trial.values import TrialLimits

Argument = int | float | bytes
"""Of a kernel: an ``int``, a ``float``, or the content of a buffer in the GPU's memory."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel to run once the module is loaded; one dimension is enough for a trial.

    Attributes:
        kernel: its name.
        blocks: how many.
        threads: of each block.
        arguments: in the kernel's order; the last buffer is brought back.
    """

    kernel: str
    blocks: int
    threads: int
    arguments: tuple[Argument, ...]

    @property
    def buffers(self) -> tuple[bytes, ...]:
        """The contents of buffers, in their order."""
        return tuple(argument for argument in self.arguments if isinstance(argument, bytes))


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """One module to load.

    Attributes:
        name: what it is called in reports.
        data: a cubin, PTX, or a whole fatbin region as it is stored, so that the driver picks.
        kernels: each is asked for, which makes the driver load it.
        gpus: on which, by index; None for all.
        launch: a kernel to run, None to run nothing.
    """

    name: str
    data: bytes
    kernels: tuple[str, ...] = ()
    gpus: tuple[int, ...] | None = None
    launch: Launch | None = None


class LoadOutcome(enum.StrEnum):
    """What the driver did."""

    LOADED = "loaded"
    """All steps that were asked for succeeded."""
    REFUSED = "refused"
    """The driver returned an error."""
    CRASHED = "crashed"
    """The process ended without an answer."""
    TIMED_OUT = "timed out"
    """The time limit, of the clock or of the CPU, was used up."""


class LoadStep(enum.StrEnum):
    """The call of the driver that a load came to."""

    START = "start"
    """cuInit and cuDevicePrimaryCtxRetain, which know nothing of the module."""
    LOAD = "load"
    """cuModuleLoadDataEx."""
    FUNCTION = "function"
    """cuModuleGetFunction, and cuFuncLoad where kernels are loaded lazily."""
    LAUNCH = "launch"
    """cuLaunchKernel, and what brings the buffers there and back."""
    UNLOAD = "unload"
    """cuModuleUnload."""


@dataclass(frozen=True, slots=True)
class LoadGpu:
    """A GPU that the driver shows.

    Attributes:
        index: its number, as the driver counts (CUDA_VISIBLE_DEVICES applies).
        name: ``NVIDIA H100 80GB HBM3``.
        arch: its architecture, by its compute capability.
    """

    index: int
    name: str
    arch: SmArch


@dataclass(frozen=True, slots=True)
class LoadedDriver:
    """The user-mode driver that answers.

    Attributes:
        library: path of the libcuda that was loaded.
        cuda: the CUDA release that it serves (cuDriverGetVersion).
        gpus: in the order of their index; at least one.
        lazy: it loads a kernel when that is first used, as programs have it by default since CUDA
            12.2; else all of a module at once.
    """

    library: str
    cuda: Release
    gpus: tuple[LoadGpu, ...]
    lazy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadAnswer:
    """What the driver did with one request on one GPU.

    Attributes:
        outcome: how it went.
        step: the step that failed, else the last one asked for.
        code: what that step returned (CUresult of cuda.h; 0 is success); None when there was none.
        code_name: ``CUDA_ERROR_NO_BINARY_FOR_GPU``; None where our table has none.
        log: error log and info log of the driver's JIT compiler, and what the driver printed.
        kernel: the kernel at which ``function`` or ``launch`` failed, else None.
        gpu: index of the GPU.
        gpu_name: its name.
        seconds: time in cuModuleLoadDataEx and cuModuleGetFunction; None without an answer.
        output: content of the launch's last buffer, None without one.
        signal: of a crash, the signal's name (``SIGSEGV``), None when the process just ended.
        exit_status: of a crash without a signal, the status that the process ended with.
        confirmed: a failure that is the module's own: the driver was sound after it, or a fresh
            process gave it again.
        note: what a process that had served other requests answered, where it was not the same.
    """

    outcome: LoadOutcome
    step: LoadStep
    code: int | None = None
    code_name: str | None = None
    log: str = ""
    kernel: str | None = None
    gpu: int
    gpu_name: str
    seconds: float | None = None
    output: bytes | None = None
    signal: str | None = None
    exit_status: int | None = None
    confirmed: bool = False
    note: str = ""


DEFAULT_LOAD_LIMITS = TrialLimits(cpu_seconds=300, wall_seconds=300.0, memory_bytes=32 * GIB)
"""PTX of a large library takes minutes to compile."""
