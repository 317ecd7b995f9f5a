"""Many trials at once, each in a child process; answers come in order."""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic, Self

from ltocompat.model.closing import Closing
from ltocompat.model.errors import UsageError
from ltocompat.model.limits import MIB
from ltocompat.trial.kind import AnswerT, RequestT, TrialKind
from ltocompat.trial.protocol import Report
from ltocompat.trial.values import TrialLimits
from ltocompat.trial.worker_slot import BATCH_REQUESTS, Task, WorkerSlot

_BATCH_BYTES = 4 * MIB
# How far ahead of the first open request others are taken up, for each worker.
_AHEAD_REQUESTS = 8 * BATCH_REQUESTS
_AHEAD_BYTES = 64 * MIB


class ChildPool(Closing, Generic[RequestT, AnswerT]):
    """Children that answer requests of one kind; use it as a context manager.

    Args:
        kind: of trial.
        limits: of each request.
        workers: how many requests are tried at a time.
    """

    def __init__(
        self, kind: TrialKind[RequestT, AnswerT], limits: TrialLimits, workers: int = 1
    ) -> None:
        self._kind = kind
        self._slots = [WorkerSlot(kind, limits) for _ in range(workers)]
        self._running = False

    def __enter__(self) -> Self:
        """Start the first child.

        Raises:
            TrialImpossible: the library can't be loaded, or is another one.
            Missing: it is not at hand.
        """
        try:
            first = self._slots[0].child(fresh=False)
            first.wait_ready()
            self._kind.greeting = first.greeting
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End all children."""
        for slot in self._slots:
            slot.end()

    def run(self, requests: Iterable[RequestT]) -> Iterator[AnswerT]:
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
        run = _Run(self._kind, self._slots)
        try:
            yield from run.answers(iter(requests))
        finally:
            self._running = False
            for slot in self._slots:
                if slot.sent:  # a run that was left early; its children are busy with it
                    slot.end()


class _Run(Generic[RequestT, AnswerT]):
    """One run: which task is where."""

    def __init__(
        self, kind: TrialKind[RequestT, AnswerT], slots: list[WorkerSlot[RequestT, AnswerT]]
    ) -> None:
        self._kind = kind
        self._slots = slots
        self._open: deque[Task[RequestT, AnswerT]] = deque()
        self._queue: deque[Task[RequestT, AnswerT]] = deque()
        self._suspects: deque[Task[RequestT, AnswerT]] = deque()
        self._open_bytes = 0
        self._exhausted = False

    def answers(self, source: Iterator[RequestT]) -> Iterator[AnswerT]:
        """See ``ChildPool.run``."""
        while True:
            self._take_up(source)
            self._hand_out()
            while self._open and (answer := self._open[0].answer) is not None:
                self._open_bytes -= self._open.popleft().size
                yield answer
            if not self._open and self._exhausted:
                return
            self._listen(wait=not self._wants_more())

    def _wants_more(self) -> bool:
        ahead = len(self._open) < _AHEAD_REQUESTS * len(self._slots)
        room = self._open_bytes < _AHEAD_BYTES * len(self._slots)
        return not self._exhausted and ahead and room

    def _take_up(self, source: Iterator[RequestT]) -> None:
        """Take up at most a batch, so that children are heard in between."""
        for _ in range(BATCH_REQUESTS):
            if not self._wants_more():
                return
            request = next(source, None)
            if request is None:
                self._exhausted = True
                return
            message = self._kind.encode(request)
            size = sum(map(len, message.pieces))
            task: Task[RequestT, AnswerT] = Task(request, message, self._kind.slow(request), size)
            self._open_bytes += size
            self._open.append(task)
            self._queue.append(task)

    def _hand_out(self) -> None:
        for slot in self._slots:
            for queue in (self._suspects, self._queue):
                while queue and slot.takes(queue[0]):
                    slot.give(_batch(queue))

    def _listen(self, *, wait: bool) -> None:
        """Exchange with the children what is there to exchange."""
        busy = [slot for slot in self._slots if slot.sent]
        if not busy:
            return
        poll = select.poll()
        for slot in busy:
            poll.register(slot.current.replies_fd, select.POLLIN)
            if slot.current.wants_to_write:
                poll.register(slot.current.requests_fd, select.POLLOUT)
        left = min(slot.current.seconds_left() for slot in busy)
        ready = {fd for fd, _ in poll.poll(max(0.0, left) * 1000 + 1 if wait else 0)}
        for slot in busy:
            if slot.current.requests_fd in ready:
                slot.current.write()
            reports = slot.hear() if slot.current.replies_fd in ready else slot.hurry()
            for task, report in reports:
                self._settle(slot, task, report)
            for task in reversed(slot.returned):
                (self._suspects if task.first else self._queue).appendleft(task)
            slot.returned.clear()

    def _settle(
        self,
        slot: WorkerSlot[RequestT, AnswerT],
        task: Task[RequestT, AnswerT],
        report: Report,
    ) -> None:
        """Take a report as the answer, or have it confirmed first."""
        kind = self._kind
        answer = kind.judge(task.request, report)
        if kind.spoils(answer):
            slot.end()
        if task.first is not None:
            task.answer = kind.confirm(task.first, answer)
        elif kind.failed(answer):
            task.first = answer
            self._suspects.append(task)
        else:
            task.answer = answer


def _batch(queue: deque[Task[RequestT, AnswerT]]) -> list[Task[RequestT, AnswerT]]:
    """Tasks to send together: one that is slow, or some that are not."""
    tasks = [queue.popleft()]
    size = tasks[0].size
    while queue and len(tasks) < BATCH_REQUESTS and not tasks[0].slow:
        size += queue[0].size
        if queue[0].slow or size > _BATCH_BYTES:
            break
        tasks.append(queue.popleft())
    return tasks
