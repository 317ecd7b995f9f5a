"""Modules loaded on the GPUs of this machine, in child processes; answers come in order."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Self

from ltocompat.facts.errors import cuda_error
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.closing import Closing
from ltocompat.model.errors import Missing, UsageError
from ltocompat.trial import protocol
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
from ltocompat.trial.process import Process
from ltocompat.trial.values import TrialLimits

PROGRAM: tuple[str, ...] = ("-m", child.__name__)
_ENVIRON = {
    # Nothing is taken from the user's cache of compiled PTX, and nothing is left there.
    "CUDA_CACHE_DISABLE": "1",
    # Else a kernel that nobody asks for stays unloaded, and its failure unseen.
    "CUDA_MODULE_LOADING": "EAGER",
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
_OUT_OF_TIME = {signal.SIGALRM, signal.SIGXCPU}


class Loader(Process):
    """A child with the CUDA driver.

    Attributes:
        driver: what it found; None of a fresh child, which starts the driver for each request.
    """

    def __init__(self, limits: TrialLimits, *, fresh: bool) -> None:
        self.driver: LoadedDriver | None = None
        super().__init__(PROGRAM, "libcuda.so.1", limits, fresh=fresh, environ=_ENVIRON)

    def hello(self, header: dict[str, Any]) -> None:
        """See ``Process``.

        Raises:
            Missing: there is no driver, or no GPU.
        """
        super().hello(header)
        if "missing" in header:
            raise Missing(header["missing"])
        if "gpus" in header:
            gpus = tuple(
                LoadGpu(index, name, SmArch.parse(f"sm_{major}{minor}"))
                for index, (name, major, minor) in enumerate(header["gpus"])
            )
            version = int(header["cuda"])  # 1000 * major + 10 * minor, see cuda.h
            release = Release(version // 1000, version % 1000 // 10)
            self.driver = LoadedDriver(header["library"], release, gpus)


class LoadPool(Closing):
    """Children that load modules on this machine's GPUs; use it as a context manager.

    A driver that crashes or hangs is an answer. One module is loaded at a time, and not lazily; the
    driver's cache of compiled PTX is off.

    Attributes:
        limits: of each request on each GPU.
    """

    def __init__(self, *, limits: TrialLimits = DEFAULT_LOAD_LIMITS) -> None:
        self.limits = limits
        self._loaders: dict[bool, Loader] = {}
        self._driver: LoadedDriver | None = None

    def __enter__(self) -> Self:
        """Start the first child.

        Raises:
            Missing: there is no driver, it does not start, or it shows no GPU.
            TrialImpossible: the driver's process ended before it could say so.
        """
        try:
            first = self._loader(fresh=False)
            first.wait_ready()
            self._driver = first.driver
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End all children."""
        while self._loaders:
            self._loaders.popitem()[1].end()

    @property
    def driver(self) -> LoadedDriver:
        """The driver that answers, and its GPUs."""
        if self._driver is None:
            raise UsageError("a LoadPool starts its children in a with statement")
        return self._driver

    def run(self, requests: Iterable[LoadRequest]) -> Iterator[tuple[LoadAnswer, ...]]:
        """The answers to requests, in their order: one for each GPU.

        A failure is asked again in a process that never served a request, and told once both have
        spoken.

        Raises:
            Missing: a GPU can't be used (its context can't be had).
        """
        for request in requests:
            gpus = self.driver.gpus
            wanted = range(len(gpus)) if request.gpus is None else request.gpus
            yield tuple(self._confirmed(request, gpus[index]) for index in wanted)

    def _confirmed(self, request: LoadRequest, gpu: LoadGpu) -> LoadAnswer:
        first = self._ask(request, gpu, fresh=False)
        if first.outcome is LoadOutcome.LOADED:
            return first
        second = self._ask(request, gpu, fresh=True)
        # How a process goes down is chance: the same bytes may end it by different signals.
        row = (first.outcome, first.step, first.kernel, first.code)
        if row == (second.outcome, second.step, second.kernel, second.code):
            return replace(second, confirmed=True)
        what = first.code_name or first.signal or first.code or first.exit_status
        text = f"a process that had served other requests answered: {first.outcome} ({what})"
        return replace(second, note=text)

    def _loader(self, *, fresh: bool) -> Loader:
        if fresh not in self._loaders:
            self._loaders[fresh] = Loader(self.limits, fresh=fresh)
        return self._loaders[fresh]

    def _ask(self, request: LoadRequest, gpu: LoadGpu, *, fresh: bool) -> LoadAnswer:
        loader = self._loader(fresh=fresh)
        frame = loader.ask(load_protocol.encode_request(request, gpu.index))
        late = loader.seconds_left() <= 0
        if frame is not None and isinstance(frame.header, dict):
            reply, output = frame.header, bytes(frame.body)
        else:
            status = loader.end()
            notes = [loader.notes[i] for i in (protocol.NOTE_STEP, protocol.NOTE_INPUT)]
            reply = dict(zip(("step", "input"), notes, strict=True))
            reply |= {"died": -signal.SIGALRM if late else status, "printed": loader.last_words}
            output = b""
        answer = self._judged(request, gpu, reply, output)
        spoilt = answer.step is LoadStep.LAUNCH and answer.outcome is not LoadOutcome.LOADED
        if frame is None or (spoilt and not fresh):
            loader.end()
            del self._loaders[fresh]
        if answer.step is LoadStep.START and answer.code:
            name = answer.code_name or "an unknown error"
            raise Missing(f"GPU {gpu.index} ({gpu.name}) can't be used: {answer.code} ({name})")
        return answer

    def _judged(
        self, request: LoadRequest, gpu: LoadGpu, reply: dict[str, Any], output: bytes
    ) -> LoadAnswer:
        """The answer that a reply amounts to, not yet confirmed."""
        # A process that went wild may have written anything where its notes were.
        step = _STEPS.get(reply.get("step", protocol.AT_REST), LoadStep.START)
        log = "\n".join(str(reply[key]).rstrip("\n") for key in _LOGS if reply.get(key))
        number = int(reply.get("kernel", reply.get("input", 0)))
        known = number < len(request.kernels) and step is LoadStep.FUNCTION
        launched = request.launch.kernel if request.launch and step is LoadStep.LAUNCH else None
        answer = LoadAnswer(
            outcome=LoadOutcome.LOADED,
            step=step,
            log=log[: self.limits.log_bytes],
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
            output=output if request.launch and not code else None,
        )


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
