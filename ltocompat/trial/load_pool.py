"""Trial loads on the GPUs of this machine: what its driver does with real modules.

>>> with LoadPool() as pool:  # doctest: +SKIP
...     for answer in pool.run([LoadRequest("saxpy.fatbin", data, ("saxpy",))]):
...         print(answer.gpu_name, answer.outcome, answer.code_name)
"""

from __future__ import annotations

import functools

from msgspec import to_builtins
from msgspec.structs import replace

from ltocompat.facts.drivers import cuda_error
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.errors import Missing
from ltocompat.trial import protocol
from ltocompat.trial.child_pool import ChildPool
from ltocompat.trial.load_values import (
    DEFAULT_LOAD_LIMITS,
    LoadAnswer,
    LoadedDriver,
    LoadGpu,
    LoadOutcome,
    LoadRequest,
    LoadStep,
)
from ltocompat.trial.protocol import Message, Report
from ltocompat.trial.trial_run import TrialRun
from ltocompat.trial.values import ChildProgram, TrialLimits

_PROGRAM = (f"{__package__}.load_child",)
_ENVIRON = {
    # Nothing is taken from the user's cache of compiled PTX, and nothing is left there.
    "CUDA_CACHE_DISABLE": "1",
}
# By their numbers; a process that ends at rest was brought down by the step that it took last.
_STEPS = dict(enumerate((LoadStep.UNLOAD, *LoadStep), protocol.AT_REST))
# What the driver says of an image: invalid, not for this GPU, bad PTX, PTX too new, no compiler or
# none allowed, invalid source, and a name that is not there. Others may be chance, as memory is.
_ABOUT_THE_IMAGE = frozenset({200, 209, 218, 221, 222, 223, 300, 500})


class LoadPool(ChildPool[LoadRequest, LoadAnswer]):
    """Children that load modules on this machine's GPUs; use it as a context manager.

    A driver that crashes or hangs is an answer. One module is loaded at a time, lazily or eagerly
    as by programs here: by the driver's default or CUDA_MODULE_LOADING. Each kernel is then loaded,
    so that all are tested. The driver's cache of compiled PTX is off.

    Raises:
        Missing: (at the start) there is no driver, it does not start, or it shows no GPU; (by
            ``run``) a GPU can't be used for any load.
    """

    def __init__(
        self, *, limits: TrialLimits = DEFAULT_LOAD_LIMITS, trial_run: TrialRun | None = None
    ) -> None:
        child = ChildProgram(_PROGRAM, "libcuda.so.1", limits, _ENVIRON)
        super().__init__(child, trial_run=trial_run)

    @functools.cached_property
    def driver(self) -> LoadedDriver:
        """The driver, and its GPUs."""
        handshake = self.handshake
        gpus = tuple(
            LoadGpu(index, name, SmArch.parse(f"sm_{major}{minor}"))
            for index, (name, major, minor) in enumerate(handshake["gpus"])
        )
        version = int(handshake["cuda"])  # 1000 * major + 10 * minor, see cuda.h
        release = Release(version // 1000, version % 1000 // 10)
        return LoadedDriver(handshake["library"], release, gpus, handshake["lazy"])

    def encode(self, request: LoadRequest) -> Message:
        """See ``ChildPool``."""
        return Message(to_builtins(replace(request, data=b"")), [request.data], request.file)

    def judge(self, request: LoadRequest, report: Report) -> LoadAnswer:
        """See ``ChildPool``."""
        reply = report.reply
        # A process that went wild may have written anything where its notes were.
        step = _STEPS.get(reply.get("step", protocol.AT_REST), LoadStep.START)
        number = int(reply.get("kernel", reply.get("input", 0)))
        known = number < len(request.kernels) and step is LoadStep.FUNCTION
        launched = request.launch.kernel if request.launch and step is LoadStep.LAUNCH else None
        answer = LoadAnswer(
            outcome=LoadOutcome.LOADED,
            step=step,
            log=protocol.log_of(reply)[: self.limits.log_bytes],
            kernel=request.kernels[number] if known else launched,
            gpu=request.gpu,
            gpu_name=self.driver.gpus[request.gpu].name,
            sandbox=self.sandbox,
        )
        if "died" in reply:
            return replace(answer, **self.ended(reply, LoadOutcome))
        code = int(reply.get("code", 0))
        error = cuda_error(code)
        if code and step is LoadStep.START:
            name = error.name if error else "an unknown error"
            raise Missing(f"GPU {answer.gpu} ({answer.gpu_name}) can't be used: {code} ({name})")
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

    def poisons_worker(self, answer: LoadAnswer) -> bool:
        """See ``ChildPool``; a kernel that fails takes the context with it."""
        return answer.step is LoadStep.LAUNCH and answer.outcome is not LoadOutcome.LOADED
