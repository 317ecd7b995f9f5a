"""A place at which one child works at a time: what it was given, and what became of it."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic

from ltocompat.trial import protocol
from ltocompat.trial.kind import AnswerT, RequestT, TrialKind
from ltocompat.trial.process import Process
from ltocompat.trial.protocol import Message, Report
from ltocompat.trial.values import TrialLimits

# Requests that only add inputs take some 0.1 ms each, so that they travel together.
BATCH_REQUESTS = 32


@dataclass(slots=True)
class Task(Generic[RequestT, AnswerT]):
    """A request on its way to an answer.

    Attributes:
        request: the request.
        message: the same as a child reads it.
        slow: it is sent alone.
        size: bytes of its pieces.
        first: a failure that is to be confirmed.
        answer: once there is one.
    """

    request: RequestT
    message: Message
    slow: bool
    size: int
    first: AnswerT | None = None
    answer: AnswerT | None = None


class WorkerSlot(Generic[RequestT, AnswerT]):
    """A child for requests and a fresh one for confirmations, of which one works at a time."""

    def __init__(self, kind: TrialKind[RequestT, AnswerT], limits: TrialLimits) -> None:
        self._kind = kind
        self._limits = limits
        self._children: dict[bool, Process] = {}
        self._fresh = False
        self.sent: deque[Task[RequestT, AnswerT]] = deque()
        self.returned: list[Task[RequestT, AnswerT]] = []
        """What a child that ended had not come to."""

    def child(self, *, fresh: bool) -> Process:
        """The child of this sort, started when there is none."""
        if fresh not in self._children:
            kind = self._kind
            self._children[fresh] = Process(
                kind.program, kind.subject, self._limits, fresh=fresh, environ=kind.environ
            )
        return self._children[fresh]

    @property
    def current(self) -> Process:
        """The child that has the tasks in ``sent``."""
        return self._children[self._fresh]

    def takes(self, task: Task[RequestT, AnswerT]) -> bool:
        """Whether it can be given this task now: one batch is worked at, and one may wait."""
        if not self.sent:
            return True
        same_child = (task.first is not None) == self._fresh
        slow = task.slow or self.sent[0].slow
        return same_child and not slow and len(self.sent) <= BATCH_REQUESTS

    def give(self, tasks: list[Task[RequestT, AnswerT]]) -> None:
        """Send tasks of one sort."""
        self._fresh = tasks[0].first is not None
        child = self.child(fresh=self._fresh)
        child.send([task.message for task in tasks], idle=not self.sent)
        self.sent.extend(tasks)

    def hear(self) -> Iterator[tuple[Task[RequestT, AnswerT], Report]]:
        """Tasks that were reported; of a child that ended, the one that it was at."""
        child = self.current
        frames, alive = child.read()
        for frame in frames:
            if not isinstance(frame.header, list) or len(frame.header) > len(self.sent):
                alive = False
                break
            child.heard += len(frame.header)
            position = 0
            for reply in frame.header:
                size = int(reply.get("output", 0))
                output = bytes(frame.body[position : position + size])
                position += size
                yield self.sent.popleft(), Report(reply, output)
        if not alive and self.sent:
            yield self._ended(child)

    def hurry(self) -> Iterator[tuple[Task[RequestT, AnswerT], Report]]:
        """End a child that is stuck, and report its task as out of time."""
        if self.sent and self.current.seconds_left() < 0:
            self.current.wait_ready()  # it raises where the library is what takes so long
            yield self._ended(self.current, status=-signal.SIGALRM)

    def _ended(
        self, child: Process, status: int | None = None
    ) -> tuple[Task[RequestT, AnswerT], Report]:
        """The report on the task that a child ended with."""
        exit_status = child.end()
        del self._children[self._fresh]
        # Replies of a batch come together, so that tasks before the guilty one may be open too.
        notes = child.notes
        number = max(0, min(notes[protocol.NOTE_REQUEST] - child.heard, len(self.sent) - 1))
        task = self.sent[number]
        del self.sent[number]
        self.returned.extend(self.sent)
        self.sent.clear()
        reply = {
            "died": exit_status if status is None else status,
            "step": notes[protocol.NOTE_STEP],
            "input": notes[protocol.NOTE_INPUT],
            "printed": child.last_words,
        }
        return task, Report(reply)

    def end(self) -> None:
        """End the children; the next request starts others."""
        while self._children:
            self._children.popitem()[1].end()
        self.sent.clear()
