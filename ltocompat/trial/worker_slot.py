"""A place at which one child works at a time: what it was given, and what became of it."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from ltocompat.trial import protocol
from ltocompat.trial.classify import LibraryReport
from ltocompat.trial.values import Answer, Request, TrialLimits
from ltocompat.trial.worker import Worker

# Requests that only add inputs take some 0.1 ms each, so that they travel together.
BATCH_REQUESTS = 32


@dataclass(slots=True)
class Task:
    """A request on its way to an answer."""

    request: Request
    first: Answer | None = None
    """A failure that is to be confirmed."""
    answer: Answer | None = None


class WorkerSlot:
    """A worker for requests and a fresh one for confirmations, of which one works at a time."""

    def __init__(self, library: str, limits: TrialLimits) -> None:
        self._library = library
        self._limits = limits
        self._workers: dict[bool, Worker] = {}
        self._fresh = False
        self.sent: deque[Task] = deque()
        self.returned: list[Task] = []
        """What a child that ended had not come to."""

    def worker(self, *, fresh: bool) -> Worker:
        """The worker of this sort, started when there is none."""
        if fresh not in self._workers:
            self._workers[fresh] = Worker(self._library, self._limits, fresh=fresh)
        return self._workers[fresh]

    @property
    def current(self) -> Worker:
        """The worker that has the tasks in ``sent``."""
        return self._workers[self._fresh]

    def takes(self, task: Task) -> bool:
        """Whether it can be given this task now: one batch is worked at, and one may wait."""
        if not self.sent:
            return True
        same_worker = (task.first is not None) == self._fresh
        slow = task.request.complete or self.sent[0].request.complete
        return same_worker and not slow and len(self.sent) <= BATCH_REQUESTS

    def give(self, tasks: list[Task]) -> None:
        """Send tasks of one sort."""
        self._fresh = tasks[0].first is not None
        worker = self.worker(fresh=self._fresh)
        worker.send([task.request for task in tasks], idle=not self.sent)
        self.sent.extend(tasks)

    def hear(self) -> Iterator[tuple[Task, LibraryReport]]:
        """Tasks that were reported; of a child that ended, the one that it was at."""
        worker = self.current
        frames, alive = worker.read()
        for frame in frames:
            if not isinstance(frame.header, list) or len(frame.header) > len(self.sent):
                alive = False
                break
            worker.heard += len(frame.header)
            position = 0
            for reply in frame.header:
                size = int(reply.get("output", 0))
                output = bytes(frame.body[position : position + size])
                position += size
                yield self.sent.popleft(), LibraryReport(reply, output)
        if not alive and self.sent:
            yield self._ended(worker)

    def hurry(self) -> Iterator[tuple[Task, LibraryReport]]:
        """End a child that is stuck, and report its task as out of time."""
        if self.sent and self.current.seconds_left() < 0:
            if self.current.release is None:
                self.current.greet()
            yield self._ended(self.current, status=-signal.SIGALRM)

    def _ended(self, worker: Worker, status: int | None = None) -> tuple[Task, LibraryReport]:
        """The report on the task that a child ended with."""
        exit_status = worker.end()
        del self._workers[self._fresh]
        # Replies of a batch come together, so that tasks before the guilty one may be open too.
        notes = worker.notes
        number = max(0, min(notes[protocol.NOTE_REQUEST] - worker.heard, len(self.sent) - 1))
        task = self.sent[number]
        del self.sent[number]
        self.returned.extend(self.sent)
        self.sent.clear()
        reply = {
            "died": exit_status if status is None else status,
            "step": notes[protocol.NOTE_STEP],
            "input": notes[protocol.NOTE_INPUT],
            "printed": worker.last_words,
        }
        return task, LibraryReport(reply)

    def end(self) -> None:
        """End the children."""
        while self._workers:
            self._workers.popitem()[1].end()
        self.sent.clear()
