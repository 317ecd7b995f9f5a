"""Many trials at once, each in a child process; answers come in order."""

from __future__ import annotations

import functools
import itertools
import logging
import select
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from msgspec import Struct, field

from ltocompat.model.closing import Closing
from ltocompat.model.errors import Malformed, Missing, UsageError
from ltocompat.model.failure import TRIAL_LOGGER
from ltocompat.model.limits import MIB
from ltocompat.trial import protocol
from ltocompat.trial.protocol import FrameReader, Message, Report
from ltocompat.trial.trial_run import TrialRun, Watch
from ltocompat.trial.values import LANDLOCK, SECCOMP, ChildProgram, TrialAnswer, TrialLimits

if TYPE_CHECKING:
    from ltocompat.trial.process import Process

RequestT = TypeVar("RequestT")
AnswerT = TypeVar("AnswerT", bound=TrialAnswer)

# Requests that only add inputs take some 0.2 ms each, a fork some 4 ms: they share one. The first
# link of a fork takes some 15 ms more than others; few share one, so that all workers have some.
_BATCH_REQUESTS = 512
_BATCH_SLOW = 4
_BATCH_BYTES = 8 * MIB
# One batch is worked at, and one may wait.
_BATCHES_AT_ONCE = 2
_ENDED = {"died": 0, "step": protocol.AT_REST, "input": 0, "printed": ""}
_WATCH_SECONDS = 0.5
# Seconds: for as long one child serves what only adds, since a start takes as long as 300 inputs.
_WORTH_ANOTHER_CHILD = 2.0
# How far ahead of the first open request others are taken up, for each worker.
_AHEAD_REQUESTS = 2 * _BATCH_REQUESTS
_AHEAD_BYTES = 64 * MIB


class ChildPool(Closing, ABC, Generic[RequestT, AnswerT]):
    """Children that answer requests of one kind; use a subclass as a context manager.

    Args:
        program: what a child runs.
        workers: number of requests that are tried at a time.
        trial_run: the CPU time of all trials of this run; None: no limit.

    Attributes:
        FORKS: each request is served by a fork; else by a process that starts anew with another
            batch key.
        limits: the limits of each request.
        trial_run: the CPU time of all trials of this run.

    Raises:
        Missing: this system is not Linux, the only one that can confine children.
    """

    FORKS: ClassVar[bool] = False

    def __init__(
        self, program: ChildProgram, *, workers: int = 1, trial_run: TrialRun | None = None
    ) -> None:
        if sys.platform != "linux":
            raise Missing(
                f"trials run NVIDIA's code in confined Linux processes, but this system is "
                f"{sys.platform}; use Linux, or check without a trial"
            )
        # Imported here: other systems lack modules that it needs.
        from ltocompat.trial.process import Process

        self.limits = limits = program.limits
        self.trial_run = trial_run or TrialRun()
        start = functools.partial(Process, program)
        self._slots: list[_Slot[RequestT, AnswerT]] = [
            _Slot(start, limits, self.trial_run, self.FORKS, _Fork(limits)) for _ in range(workers)
        ]
        self._handshake: Mapping[str, Any] = {}
        self._running = False

    def ended(self, reply: Mapping[str, Any], outcomes: type[StrEnum]) -> dict[str, Any]:
        """Return the fields of the answer for a process that ended without one."""
        status, share = int(reply["died"]), reply.get("share")
        # Of the clock and of the CPU; SIGKILL is the kernel short of memory.
        late = -status in (signal.SIGALRM, signal.SIGXCPU)
        known = (known.name for known in signal.Signals if known == -status)
        whole = share is not None and share >= self.trial_run.most(self.limits.cpu_seconds)
        return {
            "outcome": outcomes("timed out" if late else "crashed"),
            "signal": next(known, f"signal {-status}") if status < 0 else None,
            "exit_status": status if status >= 0 else None,
            "cpu_seconds": share if whole and status == -signal.SIGXCPU else None,
        }

    @abstractmethod
    def encode(self, request: RequestT) -> Message:
        """Return the request as a child reads it."""

    @abstractmethod
    def judge(self, request: RequestT, report: Report, /) -> AnswerT:
        """Return the answer in a report, not yet confirmed."""

    def safe_in_batch(self, _request: RequestT, _answer: AnswerT, /) -> bool:
        """Return whether a failure may be confirmed in a batch, which doesn't affect it."""
        return False

    def poisons_worker(self, _: AnswerT, /) -> bool:
        """Return whether a process with this answer can't serve another request."""
        return False

    def __enter__(self) -> Self:
        """Start the first child.

        Raises:
            TrialImpossible: the library can't be loaded, or is another one.
            Missing: it is not at hand.
        """
        try:
            first = self._slots[0].child(fresh=self.FORKS)
            first.wait_ready()
            self._handshake = first.handshake
            self._warn_of_missing()
        except BaseException:
            self.close()
            raise
        return self

    def _warn_of_missing(self) -> None:
        missing = " and ".join(name for name in (LANDLOCK, SECCOMP) if name not in self.sandbox)
        if missing:
            logging.getLogger(TRIAL_LOGGER).warning(
                "%s can't confine trials here: hostile code in an input could do harm; "
                "--require-sandbox refuses such trials",
                missing,
            )

    @property
    def handshake(self) -> Mapping[str, Any]:
        """The facts that the first child found out about its library.

        Raises:
            UsageError: there is no child yet.
        """
        if not self._handshake:
            raise UsageError(f"use the {type(self).__name__} in a with statement, which starts it")
        return self._handshake

    @functools.cached_property
    def sandbox(self) -> tuple[str, ...]:
        """The mechanisms that confine its children."""
        return tuple(self.handshake["sandbox"])

    def close(self) -> None:
        """End all children."""
        for slot in self._slots:
            slot.end()

    def run(self, requests: Iterable[RequestT], watch: Watch | None = None) -> Iterator[AnswerT]:
        """Yield the answers to requests, in their order; requests are taken some way ahead.

        A failure is tried again in a process that never served a request (except requests of its
        batch, if these surely don't affect it), and reported after both answers. A library that
        crashes or hangs is an answer.

        Raises:
            UsageError: it was not started, or another run is not finished.
            TrialImpossible: the library can no longer be loaded.
        """
        if self._running or not self.handshake:
            raise UsageError("a Pool answers one run at a time; start another Pool")
        self._running = True
        try:
            yield from _Run(self, self._slots, watch).answers(iter(requests))
        finally:
            self._running = False
            for slot in self._slots:
                if slot.sent:  # a run that was left early; its children are busy with it
                    slot.end()


class _Task(Struct, Generic[RequestT, AnswerT]):
    """A request on its way to an answer.

    Attributes:
        request: the request.
        message: the same as a child reads it.
        batch_key: of those that it may share a process with.
        size: bytes of its pieces.
        first: a failure that is to be confirmed.
        answer: once there is one.
    """

    request: RequestT
    message: Message
    batch_key: str | None
    size: int
    first: AnswerT | None = None
    answer: AnswerT | None = None


_Reports = Iterator[tuple[_Task[RequestT, AnswerT], Report]]


class _Slot(Struct, Generic[RequestT, AnswerT]):
    """A child that serves slow requests and one that forks for others; one works at a time.

    Attributes:
        children: those that were started, by whether they fork.
        returned: what a child that ended had not come to.
    """

    _start: Callable[..., Process]
    _limits: TrialLimits
    _trial_run: TrialRun
    _forks: bool
    _fork: _Fork
    _shares: deque[float] = field(default_factory=deque)
    _booked: dict[bool, float] = field(default_factory=dict)
    _fresh: bool = False
    _served: tuple[str | None] | None = None  # the batch key of a child that has served
    children: dict[bool, Process] = field(default_factory=dict)
    sent: deque[list[_Task[RequestT, AnswerT]]] = field(default_factory=deque)
    returned: list[_Task[RequestT, AnswerT]] = field(default_factory=list)

    def child(self, *, fresh: bool) -> Process:
        """Return the child of this kind, started if there is none."""
        if fresh not in self.children:
            self.children[fresh] = self._start(fresh=fresh)
            self._booked[fresh] = 0.0
        return self.children[fresh]

    @property
    def current(self) -> Process:
        """The child that has the tasks in ``sent``."""
        return self.children[self._fresh]

    def takes(self, task: _Task[RequestT, AnswerT]) -> bool:
        """Return whether the child can take this task now."""
        if not self.sent:
            return True
        slow = task.message.slow or any(sent.message.slow for sent in itertools.chain(*self.sent))
        return not slow and len(self.sent) < _BATCHES_AT_ONCE

    def send(self, tasks: list[_Task[RequestT, AnswerT]], share: float) -> None:
        """Send tasks of one batch, which share these CPU seconds."""
        self._fresh = tasks[0].first is not None or self._forks
        key = (tasks[0].batch_key,)
        if not self._fresh and self._served not in (None, key):
            self.end()
        self._served = key
        child = self.child(fresh=self._fresh)
        self.sent.append(tasks)
        self._shares.append(share)
        child.send([task.message for task in tasks], share, idle=len(self.sent) == 1)

    def receive(self) -> _Reports[RequestT, AnswerT]:
        """Yield the reported tasks; for a child that ended, its current task."""
        child = self.current
        frames, alive = child.read()
        for header, body in frames:
            if not isinstance(header, dict) or not self.sent:
                alive = False
                break
            if not self._fresh:
                child.renew_deadline()
                self._book(child)
                yield self.sent.popleft()[0], Report(header, bytes(body))
                continue
            for report in self._fork.reports(body, len(self.sent[0])):
                child.renew_deadline()
                yield self.sent[0].pop(0), report
            if "died" in header:
                child.renew_deadline()
                yield from self._fork_ended(header, self._book(child))
        if not alive and self.sent:
            yield from self._ended(child)

    def _fork_ended(self, ended: Mapping[str, Any], share: float) -> _Reports[RequestT, AnswerT]:
        """Without a reply to all, a fork ended at the first that it owes."""
        open_tasks = self.sent.popleft()
        fresh, self._fork = self._fork.fresh, _Fork(self._limits)
        if open_tasks:
            self.returned.extend(open_tasks[1:])
            yield open_tasks[0], Report({**ended, "share": share}, fresh=fresh)

    def _book(self, child: Process) -> float:
        """Give back what a child that has done its batch left of the oldest share; the share."""
        share, spent = self._shares.popleft(), child.cpu_seconds()
        used = share if spent is None else spent - self._booked[self._fresh]
        self._booked[self._fresh] += used
        self._trial_run.give_back(share, used)
        return share

    def _book_all(self) -> None:
        """The children are gone with all that they were at, and what it took is not known."""
        for number, share in enumerate(self._shares):
            self._trial_run.give_back(share, 0.0 if number else share)
        self._shares.clear()

    def expire(self) -> _Reports[RequestT, AnswerT]:
        """End a stuck child, and report its task as timed out."""
        if self.sent and self.current.seconds_left() < 0:
            self.current.wait_ready()  # it raises where the library is what takes so long
            yield from self._ended(self.current, status=-signal.SIGALRM)

    def _ended(self, child: Process, status: int | None = None) -> _Reports[RequestT, AnswerT]:
        """The report on the task that a child ended with, the first that it owed a reply to."""
        exit_status = child.end()
        del self.children[self._fresh]
        share = self._shares[0]
        self._book_all()
        notes = child.notes
        fresh, self._fork = self._fresh and self._fork.fresh, _Fork(self._limits)
        tasks = list(itertools.chain(*self.sent))
        self.sent.clear()
        self.returned.extend(tasks[1:])
        reply = {
            "died": exit_status if status is None else status,
            "step": notes[protocol.NOTE_STEP],
            "input": notes[protocol.NOTE_INPUT],
            "printed": child.stderr_tail,
            "share": share,
        }
        yield from ((task, Report(reply, fresh=fresh)) for task in tasks[:1])

    def end(self) -> None:
        """End the children; the next request starts others."""
        while self.children:
            self.children.popitem()[1].end()
        self._book_all()
        self.sent.clear()
        self._fork = _Fork(self._limits)


class _Fork:
    """The replies that a fork writes, as long as they are replies."""

    def __init__(self, limits: TrialLimits) -> None:
        # Replies come with their output; a header and the logs fit in besides.
        self._reader: FrameReader | None = FrameReader(limits.output_bytes * 2)
        self.fresh = True  # it has replied to nothing yet

    def reports(self, data: memoryview, owed: int) -> Iterator[Report]:
        """Yield the replies that ``data`` completes, up to the number that the fork owes."""
        try:
            for reply, output in self._reader.feed(data) if self._reader and owed else ():
                if not isinstance(reply, dict):
                    break
                fresh, self.fresh = self.fresh, False
                yield Report(reply, bytes(output), fresh)
                owed -= 1
                if not owed:
                    return
            else:
                return
        except Malformed:
            pass
        self._reader = None


class _Run(Struct, Generic[RequestT, AnswerT]):
    """One run: which task is where."""

    _pool: ChildPool[RequestT, AnswerT]
    _slots: list[_Slot[RequestT, AnswerT]]
    _watch: Watch | None
    _done: int = 0
    _open: deque[_Task[RequestT, AnswerT]] = field(default_factory=deque)
    _queue: deque[_Task[RequestT, AnswerT]] = field(default_factory=deque)
    _suspects: deque[_Task[RequestT, AnswerT]] = field(default_factory=deque)
    _open_bytes: int = 0
    _begun: float = field(default_factory=time.monotonic)
    _exhausted: bool = False

    def answers(self, source: Iterator[RequestT]) -> Iterator[AnswerT]:
        """See ``ChildPool.run``."""
        while True:
            self._take_up(source)
            self._hand_out()
            while self._open and (answer := self._open[0].answer) is not None:
                size = self._open.popleft().size
                self._open_bytes -= size
                self._done += size
                yield answer
            if self._watch is not None:
                self._watch(self._done)
            # A fork that replied to all has still to end.
            if not self._open and self._exhausted and not any(slot.sent for slot in self._slots):
                return
            self._listen(wait=not self._wants_more())

    def _wants_more(self) -> bool:
        ahead = len(self._open) < _AHEAD_REQUESTS * len(self._slots)
        room = self._open_bytes < _AHEAD_BYTES * len(self._slots)
        return not self._exhausted and ahead and room

    def _take_up(self, source: Iterator[RequestT]) -> None:
        """Take up at most a batch, so that children are heard in between."""
        for _ in range(_BATCH_REQUESTS):
            if not self._wants_more():
                return
            request = next(source, None)
            if request is None:
                self._exhausted = True
                return
            message = self._pool.encode(request)
            size = sum(map(len, message.pieces))
            task: _Task[RequestT, AnswerT] = _Task(request, message, message.file, size)
            self._open_bytes += size
            self._open.append(task)
            self._queue.append(task)

    def _hand_out(self) -> None:
        long = time.monotonic() - self._begun > _WORTH_ANOTHER_CHILD
        for number, slot in enumerate(self._slots):
            for queue in (self._suspects, self._queue):
                while queue and slot.takes(queue[0]):
                    if not (queue[0].message.slow or slot.children or long or number == 0):
                        break
                    share = self._pool.trial_run.reserve(self._pool.limits.cpu_seconds)
                    if share is None:
                        break
                    slot.send(self._batch(queue), share)
        if self._pool.trial_run.used_up:
            self._leave_the_rest()

    def _batch(self, queue: deque[_Task[RequestT, AnswerT]]) -> list[_Task[RequestT, AnswerT]]:
        """Tasks to send together: one that has no batch key or no fork, or some of one key.

        What is confirmed goes in reverse, so that it has not the same tasks before it.
        """
        first = queue.popleft()
        tasks = [first]
        size = first.size
        slow = first.message.slow
        most = _BATCH_SLOW if slow else _BATCH_REQUESTS
        while queue and len(tasks) < most and first.batch_key is not None and self._pool.FORKS:
            size += queue[0].size
            alike = queue[0].message.slow == slow and queue[0].batch_key == first.batch_key
            if not alike or (size > _BATCH_BYTES and not slow):
                break
            tasks.append(queue.popleft())
        return tasks if first.first is None else tasks[::-1]

    def _leave_the_rest(self) -> None:
        """Answer what there is no time for."""
        for queue in (self._suspects, self._queue):
            while queue:
                task = queue.popleft()
                late = Report({**_ENDED, "died": -signal.SIGXCPU})
                task.answer = self._pool.judge(task.request, late)

    def _listen(self, *, wait: bool) -> None:
        """Exchange with the children what is there to exchange."""
        busy = [slot for slot in self._slots if slot.sent]
        if not busy:
            return
        poll = select.poll()
        for slot in busy:
            poll.register(slot.current.replies_fd, select.POLLIN)
            if slot.current.unsent:
                poll.register(slot.current.requests_fd, select.POLLOUT)
        left = min(slot.current.seconds_left() for slot in busy)
        left = max(0.0, left if self._watch is None else min(left, _WATCH_SECONDS))
        ready = {fd for fd, _ in poll.poll(left * 1000 + 1 if wait else 0)}
        for slot in busy:
            if slot.current.requests_fd in ready:
                slot.current.write()
            reports = slot.receive() if slot.current.replies_fd in ready else slot.expire()
            for task, report in reports:
                self._settle(slot, task, report)
            for task in reversed(slot.returned):
                (self._suspects if task.first else self._queue).appendleft(task)
            slot.returned.clear()

    def _settle(
        self, slot: _Slot[RequestT, AnswerT], task: _Task[RequestT, AnswerT], report: Report
    ) -> None:
        """Take a report as the answer, or have it confirmed first."""
        pool = self._pool
        try:
            answer = pool.judge(task.request, report)
        except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
            # Code that took over the process replied what no child of ours does.
            answer = pool.judge(task.request, Report(_ENDED))
        if pool.poisons_worker(answer):
            slot.end()
        if task.first is not None:
            task.answer = task.first.confirmed_by(answer)
        elif not answer.failed or answer.confirmed:
            task.answer = answer
        elif report.fresh:
            task.answer = answer.confirmed_by(answer)
        else:
            task.first = answer
            task.batch_key = task.batch_key if pool.safe_in_batch(task.request, answer) else None
            self._suspects.append(task)
