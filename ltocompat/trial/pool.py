"""Trial links with one nvJitLink, see ``child_pool``."""

from __future__ import annotations

import functools
import os

from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError
from ltocompat.trial import child, classify
from ltocompat.trial.child_pool import ChildPool
from ltocompat.trial.kind import TrialKind
from ltocompat.trial.protocol import Message, Report
from ltocompat.trial.values import DEFAULT_TRIAL_LIMITS, Answer, Request, TrialLimits

PROGRAM: tuple[str, ...] = ("-m", child.__name__)


class _Links(TrialKind[Request, Answer]):
    """Links with one nvJitLink."""

    def __init__(self, library: str, limits: TrialLimits) -> None:
        super().__init__((*PROGRAM, library), library)
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
        return classify.judge(request, report, self.release, self._limits)

    def failed(self, answer: Answer) -> bool:
        """See ``TrialKind``."""
        return answer.outcome.failed

    def confirm(self, first: Answer, second: Answer) -> Answer:
        """See ``TrialKind``."""
        return classify.confirm(first, second)

    def slow(self, request: Request) -> bool:
        """See ``TrialKind``; adding inputs takes some 0.1 ms."""
        return request.complete


class Pool(ChildPool[Request, Answer]):
    """Children that answer requests with one nvJitLink; use it as a context manager.

    Attributes:
        library: the library's path.
        workers: how many links are tried at a time.
        limits: of each request.
    """

    def __init__(
        self,
        library: str | os.PathLike[str],
        *,
        workers: int | None = None,
        limits: TrialLimits = DEFAULT_TRIAL_LIMITS,
    ) -> None:
        self.library = os.path.realpath(library)
        self.workers = workers or _cores()
        self.limits = limits
        self._links = _Links(self.library, limits)
        super().__init__(self._links, limits, self.workers)

    @property
    def release(self) -> Release:
        """Version of the library, as it says itself."""
        return self._links.release


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
