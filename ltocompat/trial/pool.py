"""Trial links with one nvJitLink or nvlink, see ``child_pool``."""

from __future__ import annotations

import functools
import os
import tempfile

from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError
from ltocompat.targets.linkers.linker import Tool
from ltocompat.trial import child, classify, nvlink_child
from ltocompat.trial.child_pool import ChildPool
from ltocompat.trial.kind import TrialKind
from ltocompat.trial.protocol import Message, Report
from ltocompat.trial.values import (
    DEFAULT_TRIAL_LIMITS,
    Answer,
    LinkOutcome,
    Request,
    TrialLimits,
)

PROGRAM: tuple[str, ...] = ("-m", child.__name__)
NVLINK_PROGRAM: tuple[str, ...] = ("-m", nvlink_child.__name__)


class _Links(TrialKind[Request, Answer]):
    """Links with one nvJitLink."""

    tool = Tool.NVJITLINK

    def __init__(self, program: tuple[str, ...], library: str, limits: TrialLimits) -> None:
        super().__init__(program, library)
        self._limits = limits

    @functools.cached_property
    def release(self) -> Release:
        """Version of the library, as it says itself."""
        if not self.greeting:
            raise UsageError("a Pool starts its children in a with statement")
        return Release(*self.greeting["release"])

    def encode(self, request: Request) -> Message:
        """See ``TrialKind``."""
        named = [(input_.name, int(input_.kind)) for input_ in request.inputs]
        fields = (named, request.options, request.complete, request.keep_output)
        return Message(fields, [input_.data for input_ in request.inputs])

    def judge(self, request: Request, report: Report) -> Answer:
        """See ``TrialKind``."""
        return classify.judge(request, report, self.release, self._limits, self.tool)

    def failed(self, answer: Answer) -> bool:
        """See ``TrialKind``."""
        return answer.outcome.failed

    def confirm(self, first: Answer, second: Answer) -> Answer:
        """See ``TrialKind``."""
        return classify.confirm(first, second)

    def slow(self, request: Request) -> bool:
        """See ``TrialKind``; adding inputs takes some 0.1 ms."""
        return request.complete


class _NvlinkLinks(_Links):
    """Links with one nvlink, each in a process of its own."""

    tool = Tool.NVLINK

    def failed(self, answer: Answer) -> bool:
        """See ``TrialKind``; a refusal came from a fresh process already."""
        return answer.outcome in (LinkOutcome.CRASHED, LinkOutcome.TIMED_OUT)

    def slow(self, request: Request) -> bool:
        """See ``TrialKind``; nvlink does nothing but link."""
        del request
        return True


class Pool(ChildPool[Request, Answer]):
    """Children that answer requests with one linker; use it as a context manager.

    Attributes:
        library: the linker's path.
        workers: how many links are tried at a time.
        limits: of each request.
    """

    def __init__(
        self,
        library: str | os.PathLike[str],
        *,
        workers: int | None = None,
        limits: TrialLimits = DEFAULT_TRIAL_LIMITS,
        tool: Tool = Tool.NVJITLINK,
    ) -> None:
        self.library = os.path.realpath(library)
        self.workers = workers or _cores()
        self.limits = limits
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if tool is Tool.NVJITLINK:
            self._links = _Links((*PROGRAM, self.library), self.library, limits)
        else:
            # Removed here, since a child that is stuck is killed.
            self._folder = tempfile.TemporaryDirectory(prefix="ltocompat-nvlink-")
            words = (*NVLINK_PROGRAM, self.library, self._folder.name)
            self._links = _NvlinkLinks(words, self.library, limits)
        super().__init__(self._links, limits, self.workers)

    def close(self) -> None:
        """End all children."""
        super().close()
        if self._folder is not None:
            self._folder.cleanup()

    @property
    def release(self) -> Release:
        """Version of the linker, as it says itself."""
        return self._links.release


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
