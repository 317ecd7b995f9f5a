"""Trial links with one nvJitLink or nvlink, and what the reports of its children prove."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from msgspec.structs import replace

from ltocompat import facts
from ltocompat.files.output import scratch_folder
from ltocompat.model.arch import Release
from ltocompat.model.linker import Tool
from ltocompat.model.trial_answer import TOO_NEW
from ltocompat.scan.workers import cores
from ltocompat.trial import logs, protocol
from ltocompat.trial.child_pool import ChildPool
from ltocompat.trial.protocol import Message, Report
from ltocompat.trial.trial_run import TrialRun
from ltocompat.trial.values import (
    DEFAULT_TRIAL_LIMITS,
    Answer,
    ChildProgram,
    InputKind,
    LinkOutcome,
    Request,
    Seconds,
    Step,
    TrialLimits,
    no_process,
)

PROGRAM: tuple[str, ...] = (f"{__package__}.link_child",)
_NVLINK_PROGRAM: tuple[str, ...] = (f"{__package__}.nvlink_child",)
# Without this option nvJitLink looks for the driver at each Create. Where there is none, that takes
# a third of the time of adding an input; where there is one, it is asked for a cache, which takes
# longer than the link (13.0.88 on an H100: 43 ms against 25 ms) and keeps nothing. Older ones
# refuse the option, or crash on it together with -lto (measured on 12.0 .. 13.5).
_NO_CACHE = "-no-cache"
_NO_CACHE_SINCE = Release(12, 5)
# Else nvlink drops what no host code of its inputs launches, which says nothing of the link.
_ALL_KERNELS = "-ignore-host-info"
_ALL_KERNELS_SINCE = Release(13, 0)
_TIMES = ("create", "add", "complete")
# By their numbers; a process that ends at rest was brought down by the step that it took last.
_STEPS = dict(enumerate((Step.DESTROY, *Step), protocol.AT_REST))


class Pool(ChildPool[Request, Answer]):
    """Children that answer requests with one linker; use it as a context manager.

    Args:
        library: the linker's path.
        workers: number of requests that are tried at a time; by default one per core.
        limits: the limits of each request.
        tool: the kind of linker.
        trial_run: see ``ChildPool``.

    Raises:
        TrialImpossible: there is no room for temporary files.

    Attributes:
        library: the linker's path.
        limits: the limits of each request.
    """

    FORKS = True

    def __init__(
        self,
        library: str | os.PathLike[str],
        *,
        workers: int | None = None,
        limits: TrialLimits = DEFAULT_TRIAL_LIMITS,
        tool: Tool = Tool.NVJITLINK,
        trial_run: TrialRun | None = None,
    ) -> None:
        self.library = os.path.realpath(library)
        self.tool = tool
        self._scratch = ExitStack()
        program = (*PROGRAM, self.library)
        if tool is Tool.NVLINK:
            # Removed here, since a child that is stuck is killed.
            try:
                folder = self._scratch.enter_context(scratch_folder())
            except OSError as error:
                raise no_process(self.library, error) from error
            program = (*_NVLINK_PROGRAM, self.library, folder)
        child = ChildProgram(program, self.library, limits)
        super().__init__(child, workers=workers or cores(), trial_run=trial_run)

    def close(self) -> None:
        """End all children."""
        super().close()
        self._scratch.close()

    @functools.cached_property
    def release(self) -> Release:
        """The version that the linker states."""
        return Release(*self.handshake["release"])

    @property
    def lacks_device_runtime(self) -> bool:
        """Return whether it is an nvlink without libcudadevrt, which builds add to each link."""
        return self.tool is Tool.NVLINK and not self.handshake["device_runtime"]

    @functools.cached_property
    def _own_options(self) -> tuple[str, ...]:
        """Options that every request is given, since they change no answer."""
        if self.tool is Tool.NVLINK:
            return (_ALL_KERNELS,) if self.release >= _ALL_KERNELS_SINCE else ()
        return (_NO_CACHE,) if self.release >= _NO_CACHE_SINCE else ()

    def encode(self, request: Request) -> Message:
        """See ``ChildPool``."""
        named = [(input_.name, int(input_.kind)) for input_ in request.inputs]
        options = (*request.options, *self._own_options)
        fields = (named, options, request.complete, request.keep_output, request.kernels)
        # nvJitLink adds inputs in some 0.3 ms, nvlink does nothing but link. A batch is of one
        # file, whose author can forge no answers but his own.
        slow = request.complete or self.tool is Tool.NVLINK
        return Message(fields, [input_.data for input_ in request.inputs], request.file, slow)

    def judge(self, request: Request, report: Report) -> Answer:
        """See ``ChildPool``."""
        reply = report.reply
        log = protocol.log_of(reply)
        died, code = "died" in reply, int(reply.get("code", 0))
        # A process that went wild may have written anything where its notes were.
        number = reply.get("step", protocol.AT_ADD)
        step = _STEPS.get(number, Step.CREATE) if died else _STEPS[number]
        failed = (died or code) and step is Step.ADD
        names = {number: input_.name for number, input_ in enumerate(request.inputs)}
        answer = Answer(
            outcome=LinkOutcome.CRASHED,
            step=step,
            input_name=names.get(int(reply.get("input", 0))) if failed else None,
            log=log[: self.limits.log_bytes],
            sandbox=self.sandbox,
            release=self.release,
        )
        if died:
            return replace(answer, **self.ended(reply, LinkOutcome))
        open_symbols = logs.unresolved(log)
        name = facts.nvjitlink_result_name(code, self.release)
        if self.tool is Tool.NVLINK:
            name = f"exit status {code}" if code else None
        return replace(
            answer,
            outcome=_outcome(request, reply, code, open_symbols),
            code=code,
            code_name=name,
            unresolved=open_symbols,
            seconds=Seconds(**{name: reply[name] / 1e6 for name in _TIMES if name in reply}),
            output_size=reply.get("size"),
            output=report.output or None,
            kernels_in_output=reply.get("kernels"),
            lost=tuple(map(str, reply.get("lost", ()))),
            registers=reply.get("registers"),
            # Each nvlink is a process that never served another request.
            confirmed=bool(code) and self.tool is Tool.NVLINK,
        )

    def safe_in_batch(self, request: Request, answer: Answer) -> bool:
        """See ``ChildPool``: a linker finds LTO-IR too new before it reads the code.

        Other refusals of a damaged input may depend on the memory after it. Even 1 in 100 damaged
        fatbins that are too new crashes some processes instead, alone or in a batch (12.0.140 ..
        13.5.37); no linker accepts one in a batch that it refuses alone.
        """
        fatbins = all(input_.kind is InputKind.FATBIN for input_ in request.inputs)
        return fatbins and refused_as_too_new(answer)


def refused_as_too_new(answer: Answer) -> bool:
    """Return whether a linker's log shows that it refused an input of a newer release."""
    reason = logs.explain(answer.log)
    refused = answer.outcome is LinkOutcome.REFUSED
    return refused and reason is not None and reason.cause == TOO_NEW


def _outcome(
    request: Request, reply: Mapping[str, Any], code: int, open_symbols: tuple[str, ...]
) -> LinkOutcome:
    # -r leaves symbols to a later link by design; the library does not call them unresolved then.
    if open_symbols:
        return LinkOutcome.UNRESOLVED
    if code:
        return LinkOutcome.REFUSED
    if reply.get("lost"):
        return LinkOutcome.LOST
    # Without a kernel the library compiles nothing and writes an empty output, except with -r since
    # 13.3 (measured), where the functions themselves are in the output.
    if not reply.get("code_bytes"):
        return LinkOutcome.ACCEPTED
    later = {"-r", "-ptx"} & set(request.options)
    return LinkOutcome.LINKED if reply.get("kernels") and not later else LinkOutcome.COMPILED
