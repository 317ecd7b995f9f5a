"""Work that forked processes share; its results come in order, as one process would give them.

A worker is a copy of this process, so that it knows all that was read before. What it can't do
(an error, a limit, its death) is done again here: errors and answers are those of one process.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from ltocompat.model import watchdog
from ltocompat.model.closing import Closing
from ltocompat.model.limits import MIB

I = TypeVar("I")  # noqa: E741 - an item
R = TypeVar("R")

_NUMBER = struct.Struct("<q")
_NO_RESULT = -1
_QUEUED = 2  # tasks that a worker has at hand, so that it never waits for the next one
_LEFT = 2  # tasks for each one at hand that no worker has, so that all end together
_MOST_KEPT = 64 * MIB  # results whose turn has not come, bytes
_READ = MIB
_PIPE_SIZE = MIB
_CGROUPS = Path("/sys/fs/cgroup")

_inside = False


def inside() -> bool:
    """Whether this process is a worker, which reports no progress and starts no workers."""
    return _inside


def available(jobs: int | None = None) -> int:
    """How many processes may read at the same time; 1: this one alone.

    Args:
        jobs: what the user allows; None: as many as there are cores for this process.
    """
    if sys.platform != "linux" or _inside or jobs == 1:
        return 1
    # A fork copies no thread but its own, and what another one holds stays locked.
    if _threads() > 1 or _is_worker_of_others():
        return 1
    return jobs or cores()


def _threads() -> int:
    """Threads of this process, those of libraries too; without /proc only those of Python."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


def _is_worker_of_others() -> bool:
    """Whether a pool of processes started this one: its cores are busy with its siblings."""
    multiprocessing = sys.modules.get("multiprocessing")
    return multiprocessing is not None and multiprocessing.parent_process() is not None


def cores() -> int:
    """How many cores this process may run on, and its control group lets it use."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    return max(1, min([len(os.sched_getaffinity(0)), *_quotas()]))


def _quotas() -> Iterator[int]:
    """Cores that control groups (version 2) allow, rounded up."""
    with contextlib.suppress(OSError, ValueError):
        own = Path("/proc/self/cgroup").read_text().rpartition("::")[2].strip().lstrip("/")
        for folder in (_CGROUPS / own, *(_CGROUPS / own).parents):
            if not folder.is_relative_to(_CGROUPS):
                return
            with contextlib.suppress(OSError):
                quota, period = (folder / "cpu.max").read_text().split()
                if quota != "max":
                    yield -(-int(quota) // int(period))


def in_order(
    work: Callable[[I], R],
    items: Sequence[I],
    number: int,
    order: Sequence[int] | None = None,
) -> Iterator[R | None]:
    """What ``Pool`` gives, whose workers begin when the first result is asked for."""
    with Pool(work, items, number, order) as pool:
        yield from pool


class Pool(Closing, Generic[I, R]):
    """Workers, and what they have done; they begin at once, and end with the ``with`` block.

    Iterating gives what ``work`` gives for each item, in the order of the items; None: do it
    yourself.

    Args:
        work: does one item; what it gives has to be picklable.
        items: what there is to do.
        number: how many workers do it.
        order: numbers of the items in the order in which they are begun; None: as they come.
        queued: how many of them a worker has at hand at most; many where they are short, and this
            process has much else to do.
    """

    def __init__(
        self,
        work: Callable[[I], R],
        items: Sequence[I],
        number: int,
        order: Sequence[int] | None = None,
        queued: int = _QUEUED,
    ) -> None:
        # Imported before any worker is forked: else each would do it.
        import pickle  # noqa: F401

        self._count = len(items)
        self._queued = queued
        self._todo = deque(range(len(items)) if order is None else order)
        self._done: dict[int, bytes | None] = {}
        self._kept = 0
        self._workers: dict[int, _Worker] = {}  # by the pipe that their results come from
        try:
            for _ in range(min(number, len(items))):
                with _uninterrupted():
                    worker = _Worker(work, items, tuple(self._workers.values()))
                    self._workers[worker.results] = worker
            self._hand_out(0)
        except OSError:  # no process, no pipe: there are fewer then
            pass
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[R | None]:
        import pickle

        for number in range(self._count):
            result = self._result(number)
            yield None if result is None else pickle.loads(result)  # noqa: S301 - our own

    def _result(self, number: int) -> bytes | None:
        """What was done for an item, pickled; None where it has to be done here."""
        while number not in self._done:
            self._hand_out(number)
            if not self._workers:
                return None
            self._receive()
        result = self._done.pop(number)
        self._kept -= len(result or b"")
        return result

    def close(self) -> None:
        """End all workers, whatever they do."""
        for worker in self._workers.values():
            worker.end()
        self._workers.clear()

    def _hand_out(self, wanted: int) -> None:
        """Keep every worker busy; with too much in memory, with what is wanted next alone.

        No worker has two tasks while another has none, and none has many where few are left.
        """
        most = 1 + len(self._todo) // (_LEFT * max(len(self._workers), 1))
        for at_hand in range(min(most, self._queued)):
            for worker in list(self._workers.values()):
                if len(worker.numbers) > at_hand or not self._todo:
                    continue
                if self._kept > _MOST_KEPT:
                    if wanted not in self._todo:
                        return
                    self._todo.remove(wanted)
                    self._todo.appendleft(wanted)
                number = self._todo.popleft()
                if not worker.give(number):
                    self._todo.appendleft(number)
                    self._lose(worker)

    def _receive(self) -> None:
        poll = select.poll()
        for pipe in self._workers:
            poll.register(pipe, select.POLLIN)
        for pipe, _ in poll.poll():
            worker = self._workers[pipe]
            if not worker.receive():
                self._lose(worker)
                continue
            for number, result in worker.complete():
                self._done[number] = result
                self._kept += len(result or b"")

    def _lose(self, worker: _Worker) -> None:
        """A worker died: what it was to do is done here."""
        self._done |= dict.fromkeys(worker.numbers)
        del self._workers[worker.results]
        worker.end()


class _Worker:
    """One forked process, seen from here.

    Attributes:
        results: the pipe that its results come from.
        numbers: the items that it was given and has not done, in order.
    """

    def __init__(
        self, work: Callable[[I], object], items: Sequence[I], others: Sequence[_Worker]
    ) -> None:
        self.numbers: deque[int] = deque()
        self._buffer = bytearray()
        tasks, self._tasks = os.pipe()
        self.results, results = os.pipe()
        _widen(results)
        self._process = os.fork()
        if self._process == 0:
            # Whoever has the other end of a pipe keeps its reader waiting.
            for worker in (self, *others):
                os.close(worker.results)
                os.close(worker._tasks)  # noqa: SLF001 - of another one
            _run(work, items, tasks, results)
        os.close(tasks)
        os.close(results)

    def give(self, number: int) -> bool:
        """Give it an item to do; False where it is dead."""
        try:
            os.write(self._tasks, _NUMBER.pack(number))
        except BrokenPipeError:
            return False
        self.numbers.append(number)
        return True

    def receive(self) -> bool:
        """Take what it has sent; False where it has ended."""
        data = os.read(self.results, _READ)
        self._buffer += data
        return bool(data)

    def complete(self) -> Iterator[tuple[int, bytes | None]]:
        """Items that it has done since, and what it gave for each."""
        while len(self._buffer) >= _NUMBER.size:
            size = _NUMBER.unpack_from(self._buffer)[0]
            end = _NUMBER.size + max(size, 0)
            if len(self._buffer) < end:
                return
            result = None if size == _NO_RESULT else bytes(self._buffer[_NUMBER.size : end])
            del self._buffer[:end]
            yield self.numbers.popleft(), result

    def end(self) -> None:
        """Kill it, and let go of it."""
        os.close(self._tasks)
        os.close(self.results)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._process, 0)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Have Ctrl-C wait: between a fork and its being known here, nobody would end the worker."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _widen(pipe: int) -> None:
    """Room for a result in the pipe, so that its worker can begin the next one."""
    import fcntl

    with contextlib.suppress(OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)


def _run(work: Callable[[I], object], items: Sequence[I], tasks: int, results: int) -> None:
    """Run a worker: do each task that comes, until the parent sends no more; never returns."""
    global _inside  # noqa: PLW0603 - of this process
    try:
        _inside = True
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
        watchdog.go_on_in_child()
        gc.freeze()  # what was there before stays shared with the parent
        while task := os.read(tasks, _NUMBER.size):
            _send(results, _done(work, items[_NUMBER.unpack(task)[0]]))
    finally:
        # Not by sys.exit: buffers, handlers and files of the parent are left alone.
        os._exit(0)


def _done(work: Callable[[I], object], item: I) -> bytes | None:
    import pickle

    try:
        return pickle.dumps(work(item), pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001 - the parent does it again, and says what is wrong
        return None


def _send(pipe: int, result: bytes | None) -> None:
    size = _NO_RESULT if result is None else len(result)
    data = memoryview(_NUMBER.pack(size) + (result or b""))
    while data:
        data = data[os.write(pipe, data) :]
