"""Trial loads on the GPUs of this machine, see ``child_pool``."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Self

from ltocompat.facts.drivers import cuda_error
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.closing import Closing
from ltocompat.model.errors import Missing, UsageError
from ltocompat.trial import protocol
from ltocompat.trial.child_pool import ChildPool
from ltocompat.trial.classify import disagreement
from ltocompat.trial.kind import TrialKind
from ltocompat.trial.loading import child, load_protocol
from ltocompat.trial.loading.values import (
    DEFAULT_LOAD_LIMITS,
    LoadAnswer,
    LoadedDriver,
    LoadGpu,
    LoadOutcome,
    LoadRequest,
    LoadStep,
)
from ltocompat.trial.protocol import Message, Report
from ltocompat.trial.values import TrialLimits

PROGRAM: tuple[str, ...] = ("-m", child.__name__)
_ENVIRON = {
    # Nothing is taken from the user's cache of compiled PTX, and nothing is left there.
    "CUDA_CACHE_DISABLE": "1",
}
_STEPS = {
    # A process that ends at rest was brought down by the step that it took last.
    protocol.AT_REST: LoadStep.UNLOAD,
    load_protocol.AT_START: LoadStep.START,
    load_protocol.AT_LOAD: LoadStep.LOAD,
    load_protocol.AT_FUNCTION: LoadStep.FUNCTION,
    load_protocol.AT_LAUNCH: LoadStep.LAUNCH,
    load_protocol.AT_UNLOAD: LoadStep.UNLOAD,
}
_LOGS = ("error", "info", "printed")
# What the driver says of an image: invalid, not for this GPU, bad PTX, PTX too new, no compiler or
# none allowed, invalid source, and a name that is not there. Others may be chance, as memory is.
_ABOUT_THE_IMAGE = frozenset({200, 209, 218, 221, 222, 223, 300, 500})
_OUT_OF_TIME = {signal.SIGALRM, signal.SIGXCPU}


@dataclass(frozen=True, slots=True)
class _Load:
    """One module for one GPU."""

    request: LoadRequest
    gpu: LoadGpu


class _Loads(TrialKind[_Load, LoadAnswer]):
    """Loads with the CUDA driver; one module is loaded at a time."""

    def __init__(self, limits: TrialLimits) -> None:
        super().__init__(PROGRAM, "libcuda.so.1", _ENVIRON)
        self._limits = limits

    def encode(self, request: _Load) -> Message:
        """See ``TrialKind``."""
        return load_protocol.encode(request.request, request.gpu.index)

    def judge(self, request: _Load, report: Report) -> LoadAnswer:
        """See ``TrialKind``.

        Raises:
            Missing: the GPU can't be used, whatever is loaded.
        """
        answer = self._judged(request, report)
        if answer.step is LoadStep.START and answer.code:
            gpu, name = request.gpu, answer.code_name or "an unknown error"
            raise Missing(f"GPU {gpu.index} ({gpu.name}) can't be used: {answer.code} ({name})")
        return answer

    def failed(self, answer: LoadAnswer) -> bool:
        """See ``TrialKind``: what needs a fresh process, which takes long to start a driver."""
        return answer.outcome is not LoadOutcome.LOADED and not answer.confirmed

    def confirm(self, first: LoadAnswer, second: LoadAnswer) -> LoadAnswer:
        """See ``TrialKind``."""
        # How a process goes down is chance: the same bytes may end it by different signals.
        row = (first.outcome, first.step, first.kernel, first.code)
        if row == (second.outcome, second.step, second.kernel, second.code):
            return replace(second, confirmed=True)
        return replace(second, note=disagreement(first))

    def spoils(self, answer: LoadAnswer) -> bool:
        """See ``TrialKind``; a kernel that fails takes the context with it."""
        return answer.step is LoadStep.LAUNCH and answer.outcome is not LoadOutcome.LOADED

    def _judged(self, load: _Load, report: Report) -> LoadAnswer:
        request, gpu, reply = load.request, load.gpu, report.reply
        # A process that went wild may have written anything where its notes were.
        step = _STEPS.get(reply.get("step", protocol.AT_REST), LoadStep.START)
        log = "\n".join(str(reply[key]).rstrip("\n") for key in _LOGS if reply.get(key))
        number = int(reply.get("kernel", reply.get("input", 0)))
        known = number < len(request.kernels) and step is LoadStep.FUNCTION
        launched = request.launch.kernel if request.launch and step is LoadStep.LAUNCH else None
        answer = LoadAnswer(
            outcome=LoadOutcome.LOADED,
            step=step,
            log=log[: self._limits.log_bytes],
            kernel=request.kernels[number] if known else launched,
            gpu=gpu.index,
            gpu_name=gpu.name,
        )
        if "died" in reply:
            return _ended(answer, int(reply["died"]))
        code = int(reply.get("code", 0))
        error = cuda_error(code)
        return replace(
            answer,
            outcome=LoadOutcome.REFUSED if code else LoadOutcome.LOADED,
            code=code,
            code_name=error.name if error else None,
            kernel=answer.kernel if code else None,
            seconds=reply.get("seconds"),
            output=report.output if request.launch and not code else None,
            confirmed=code in _ABOUT_THE_IMAGE and bool(reply.get("sound")),
        )


class LoadPool(Closing):
    """Children that load modules on this machine's GPUs; use it as a context manager.

    A driver that crashes or hangs is an answer. One module is loaded at a time, as programs do it
    here: lazily or eagerly, by the driver's default or by CUDA_MODULE_LOADING. Each kernel is
    loaded then, so that none stays unseen. The driver's cache of compiled PTX is off.

    Attributes:
        limits: of each request on each GPU.
    """

    def __init__(self, *, limits: TrialLimits = DEFAULT_LOAD_LIMITS) -> None:
        self.limits = limits
        self._loads = _Loads(limits)
        self._pool = ChildPool(self._loads, limits)

    def __enter__(self) -> Self:
        """Start the first child.

        Raises:
            Missing: there is no driver, it does not start, or it shows no GPU.
            TrialImpossible: the driver's process ended before it could say so.
        """
        self._pool.__enter__()
        return self

    def close(self) -> None:
        """End all children."""
        self._pool.close()

    @property
    def driver(self) -> LoadedDriver:
        """The driver that answers, and its GPUs."""
        greeting = self._loads.greeting
        if not greeting:
            raise UsageError("a LoadPool starts its children in a with statement")
        gpus = tuple(
            LoadGpu(index, name, SmArch.parse(f"sm_{major}{minor}"))
            for index, (name, major, minor) in enumerate(greeting["gpus"])
        )
        version = int(greeting["cuda"])  # 1000 * major + 10 * minor, see cuda.h
        release = Release(version // 1000, version % 1000 // 10)
        return LoadedDriver(greeting["library"], release, gpus, greeting["lazy"])

    def run(self, requests: Iterable[LoadRequest]) -> Iterator[tuple[LoadAnswer, ...]]:
        """The answers to requests, in their order: one for each GPU.

        A failure that may be none of the module's is asked again in a process that never served a
        request, and told once both have spoken.

        Raises:
            Missing: a GPU can't be used (its context can't be had).
        """
        gpus = self.driver.gpus
        for request in requests:
            indexes = range(len(gpus)) if request.gpus is None else request.gpus
            yield tuple(self._pool.run(_Load(request, gpus[index]) for index in indexes))


def _ended(answer: LoadAnswer, status: int) -> LoadAnswer:
    late = -status in _OUT_OF_TIME
    name = None
    if status < 0:
        known = {signals.value: signals.name for signals in signal.Signals}
        name = known.get(-status, f"signal {-status}")
    return replace(
        answer,
        outcome=LoadOutcome.TIMED_OUT if late else LoadOutcome.CRASHED,
        signal=name,
        exit_status=status if status >= 0 else None,
    )
