"""Many trial links at once with one nvJitLink, each in a child process; answers come in order."""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Self

from ltocompat.model.arch import Release
from ltocompat.model.closing import Closing
from ltocompat.model.errors import UsageError
from ltocompat.model.limits import MIB
from ltocompat.trial.classify import LibraryReport, confirm, judge
from ltocompat.trial.values import DEFAULT_TRIAL_LIMITS, Answer, Request, TrialLimits
from ltocompat.trial.worker_slot import BATCH_REQUESTS, Task, WorkerSlot

_BATCH_BYTES = 4 * MIB
# How far ahead of the first open request others are taken up, for each worker.
_AHEAD_REQUESTS = 8 * BATCH_REQUESTS
_AHEAD_BYTES = 64 * MIB


class Pool(Closing):
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
        self._seats = [WorkerSlot(self.library, limits) for _ in range(self.workers)]
        self._release: Release | None = None
        self._running = False

    def __enter__(self) -> Self:
        """Start the first child.

        Raises:
            TrialImpossible: the library can't be loaded, or isn't nvJitLink.
        """
        try:
            self._release = self._seats[0].worker(fresh=False).greet()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End all children."""
        for seat in self._seats:
            seat.end()

    @property
    def release(self) -> Release:
        """Version of the library, as it says itself."""
        if self._release is None:
            raise UsageError("a Pool starts its children in a with statement")
        return self._release

    def run(self, requests: Iterable[Request]) -> Iterator[Answer]:
        """The answers to requests, in their order; requests are taken up some way ahead.

        A failure is asked again in a process that never served a request, and told once both have
        spoken. A library that crashes or hangs is an answer.

        Raises:
            UsageError: another run of this pool is not at its end.
            TrialImpossible: the library can no longer be loaded.
        """
        if self._running:
            raise UsageError("a Pool answers one run at a time; start another Pool")
        self._running = True
        run = _Run(self._seats, self.release, self.limits)
        try:
            yield from run.answers(iter(requests))
        finally:
            self._running = False
            for seat in self._seats:
                if seat.sent:  # a run that was left early; its children are busy with it
                    seat.end()


class _Run:
    """One run: which task is where."""

    def __init__(self, seats: list[WorkerSlot], release: Release, limits: TrialLimits) -> None:
        self._seats = seats
        self._release = release
        self._limits = limits
        self._open: deque[Task] = deque()
        self._queue: deque[Task] = deque()
        self._suspects: deque[Task] = deque()
        self._open_bytes = 0
        self._exhausted = False

    def answers(self, source: Iterator[Request]) -> Iterator[Answer]:
        """See ``Pool.run``."""
        while True:
            self._take_up(source)
            self._hand_out()
            while self._open and (answer := self._open[0].answer) is not None:
                self._open_bytes -= self._open.popleft().request.size
                yield answer
            if not self._open and self._exhausted:
                return
            self._listen(wait=not self._wants_more())

    def _wants_more(self) -> bool:
        ahead = len(self._open) < _AHEAD_REQUESTS * len(self._seats)
        room = self._open_bytes < _AHEAD_BYTES * len(self._seats)
        return not self._exhausted and ahead and room

    def _take_up(self, source: Iterator[Request]) -> None:
        """Take up at most a batch, so that children are heard in between."""
        for _ in range(BATCH_REQUESTS):
            if not self._wants_more():
                return
            request = next(source, None)
            if request is None:
                self._exhausted = True
                return
            task = Task(request)
            self._open_bytes += request.size
            self._open.append(task)
            self._queue.append(task)

    def _hand_out(self) -> None:
        for seat in self._seats:
            for queue in (self._suspects, self._queue):
                while queue and seat.takes(queue[0]):
                    seat.give(_batch(queue))

    def _listen(self, *, wait: bool) -> None:
        """Exchange with the children what is there to exchange."""
        busy = [seat for seat in self._seats if seat.sent]
        if not busy:
            return
        poll = select.poll()
        for seat in busy:
            poll.register(seat.current.replies_fd, select.POLLIN)
            if seat.current.wants_to_write:
                poll.register(seat.current.requests_fd, select.POLLOUT)
        left = min(seat.current.seconds_left() for seat in busy)
        ready = {fd for fd, _ in poll.poll(max(0.0, left) * 1000 + 1 if wait else 0)}
        for seat in busy:
            if seat.current.requests_fd in ready:
                seat.current.write()
            reports = seat.hear() if seat.current.replies_fd in ready else seat.hurry()
            for task, report in reports:
                self._settle(task, report)
            for task in reversed(seat.returned):
                (self._suspects if task.first else self._queue).appendleft(task)
            seat.returned.clear()

    def _settle(self, task: Task, report: LibraryReport) -> None:
        """Take a report as the answer, or have it confirmed first."""
        answer = judge(task.request, report, self._release, self._limits)
        if task.first is not None:
            task.answer = confirm(task.first, answer)
        elif answer.outcome.failed:
            task.first = answer
            self._suspects.append(task)
        else:
            task.answer = answer


def _batch(queue: deque[Task]) -> list[Task]:
    """Tasks to send together: one link, or some that only add their inputs."""
    tasks = [queue.popleft()]
    size = tasks[0].request.size
    while queue and len(tasks) < BATCH_REQUESTS and not tasks[0].request.complete:
        size += queue[0].request.size
        if queue[0].request.complete or size > _BATCH_BYTES:
            break
        tasks.append(queue.popleft())
    return tasks


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
