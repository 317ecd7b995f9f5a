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
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from ltocompat.files.descriptors import write_all
from ltocompat.model import watchdog
from ltocompat.model.closing import Closing
from ltocompat.model.limits import MIB

I = TypeVar("I")  # noqa: E741 - an item
R = TypeVar("R")

_NUMBER = struct.Struct("<q")
_RESULT = struct.Struct("<qq")  # number of the item, size of what was done in bytes
_NONE = -1
_Done = Callable[[int], bytes]
"""Does the item of a number; the frame of its result."""
_QUEUED = 2  # tasks for each worker, so that it never waits for the next one
# A page of them, which every pipe takes: they are written before any worker reads.
_MOST_QUEUED = 4096 // _NUMBER.size
_MOST_KEPT = 64 * MIB  # results whose turn has not come, bytes
_READ = 64 << 10
_PIPE_SIZE = MIB
_CGROUPS = Path("/sys/fs/cgroup")

_inside = False


def inside() -> bool:
    """Return whether this process is a worker, which reports no progress and starts no workers."""
    return _inside


def available(jobs: int | None = None) -> int:
    """Return how many processes may read at the same time; 1: this one alone.

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
    """Return whether a pool of processes started this one: its cores are busy with its siblings."""
    multiprocessing = sys.modules.get("multiprocessing")
    return multiprocessing is not None and multiprocessing.parent_process() is not None


def cores() -> int:
    """Return how many cores this process may run on, and its control group lets it use."""
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
    """Yield the results of a ``Pool`` whose workers start when the first one is asked for."""
    with Pool(work, items, number, order) as pool:
        yield from pool


class Pool(Closing, Generic[I, R]):
    """Workers, and what they have done; they begin at once, and end with the ``with`` block.

    Iterating gives what ``work`` gives for each item, in the order of the items; None: do it
    yourself. All workers take the numbers of their items from one pipe, so that none waits for this
    process, which may have much else to do.

    Args:
        work: does one item; what it gives has to be picklable.
        items: what there is to do.
        number: how many workers do it.
        order: numbers of the items in the order in which they are begun; None: as they come.
        queued: how many items lie in the pipe for each worker; many where they are short.
    """

    def __init__(
        self,
        work: Callable[[I], R],
        items: Sequence[I],
        number: int,
        order: Sequence[int] | None = None,
        queued: int = _QUEUED,
    ) -> None:
        number = min(number, len(items))
        self._count = len(items)
        self._todo = deque(range(len(items)) if order is None else order)
        self._most = min(number * queued, _MOST_QUEUED)
        self._given = 0  # and not done
        self._done: dict[int, bytes | None] = {}
        self._kept = 0
        self._workers: dict[int, _Worker] = {}  # by the pipe that their results come from
        self._tasks: int | None = None
        self._poll = select.poll()
        try:
            self._start(work, items, number)
        except OSError:  # no process, no pipe: there are fewer then
            pass
        except BaseException:
            self.close()
            raise

    def _start(self, work: Callable[[I], R], items: Sequence[I], number: int) -> None:
        if not number:
            return
        import mmap
        import pickle  # before any worker is forked: else each would do it

        def done(task: int) -> bytes:
            try:
                result = pickle.dumps(work(items[task]), pickle.HIGHEST_PROTOCOL)
            except Exception:  # noqa: BLE001 - the parent does it again, and says what is wrong
                return _RESULT.pack(task, _NONE)
            return _RESULT.pack(task, len(result)) + result

        at_hand = memoryview(mmap.mmap(-1, number * _NUMBER.size)).cast("q")
        tasks, self._tasks = os.pipe()
        try:
            self._hand_out(0)
            for slot in range(number):
                # Whoever can write to a pipe keeps its reader waiting.
                others = tuple(self._workers)
                others += () if self._tasks is None else (self._tasks,)
                with _uninterrupted():
                    worker = _Worker(done, tasks, others, at_hand[slot : slot + 1])
                    self._workers[worker.results] = worker
                self._poll.register(worker.results, select.POLLIN)
        finally:
            os.close(tasks)

    def __iter__(self) -> Iterator[R | None]:
        import pickle

        for number in range(self._count):
            result = self._result(number)
            yield None if result is None else pickle.loads(result)  # noqa: S301 - our own

    def _result(self, number: int) -> bytes | None:
        """Return the pickled result for an item; None where it has to be computed here."""
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
        self._hand_out_no_more()
        for worker in self._workers.values():
            worker.kill()
        for worker in self._workers.values():
            worker.leave()
        self._workers.clear()

    def _hand_out(self, wanted: int) -> None:
        """Have workers find something to do; with too much in memory, what is wanted next alone."""
        while self._todo and self._tasks is not None and self._given < self._most:
            if self._kept > _MOST_KEPT:
                if wanted not in self._todo:
                    return
                self._todo.remove(wanted)
                self._todo.appendleft(wanted)
            try:
                os.write(self._tasks, _NUMBER.pack(self._todo[0]))
            except BrokenPipeError:  # they are all dead
                return
            self._todo.popleft()
            self._given += 1
        if not self._todo:
            self._hand_out_no_more()

    def _hand_out_no_more(self) -> None:
        """Workers that find nothing end by themselves, while this process goes on."""
        if self._tasks is not None:
            os.close(self._tasks)
            self._tasks = None

    def _receive(self) -> None:
        for pipe, _ in self._poll.poll():
            worker = self._workers.get(pipe)
            if worker is None:  # all were ended
                continue
            if not worker.receive():
                self._lose(worker)
                continue
            for number, result in worker.complete():
                self._take(number, result)
                self._kept += len(result or b"")

    def _take(self, number: int, result: bytes | None) -> None:
        self._done[number] = result
        self._given -= 1

    def _lose(self, worker: _Worker) -> None:
        """A worker has ended: what it was at is done here."""
        self._poll.unregister(worker.results)
        del self._workers[worker.results]
        worker.kill()
        worker.leave()
        number = worker.at_hand[0]
        if number not in (_NONE, worker.last):
            self._take(number, None)
        elif self._tasks is not None:  # it died, and nobody knows whether it had taken a number
            self.close()


class _Worker:
    """One forked process, seen from here.

    Attributes:
        results: the pipe that its results come from.
        at_hand: the number of the item that it is at, in memory of both; below 0 for none.
        last: number of the last item that came from it.
    """

    def __init__(
        self, done: _Done, tasks: int, others: Sequence[int], at_hand: memoryview[int]
    ) -> None:
        self.at_hand = at_hand
        at_hand[0] = _NONE
        self.last = _NONE
        self._buffer = bytearray()
        self.results, results = os.pipe()
        widen(results)
        self._process = os.fork()
        if self._process == 0:
            _run(done, tasks, results, (self.results, *others), at_hand)
        os.close(results)

    def receive(self) -> bool:
        """Take what it has sent; False where it has ended."""
        data = os.read(self.results, _READ)
        self._buffer += data
        return bool(data)

    def complete(self) -> Iterator[tuple[int, bytes | None]]:
        """Items that it has done since, and what it gave for each."""
        while len(self._buffer) >= _RESULT.size:
            number, size = _RESULT.unpack_from(self._buffer)
            end = _RESULT.size + max(size, 0)
            if len(self._buffer) < end:
                return
            result = None if size == _NONE else bytes(self._buffer[_RESULT.size : end])
            del self._buffer[:end]
            self.last = number
            yield number, result

    def kill(self) -> None:
        """End it, whatever it does."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)

    def leave(self) -> None:
        """Let go of it, once it was killed."""
        os.close(self.results)
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


def widen(pipe: int) -> None:
    """Make room in a pipe for a result or a batch, so that its writer can go on."""
    import fcntl

    with contextlib.suppress(OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)


def _run(
    done: _Done, tasks: int, results: int, others: Iterable[int], at_hand: memoryview[int]
) -> None:
    """Run a worker: do each task that comes, until the parent sends no more; never returns."""
    global _inside  # noqa: PLW0603 - of this process
    try:
        for pipe in others:
            os.close(pipe)
        _inside = True
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
        watchdog.rearm_after_fork()
        gc.freeze()  # what was there before stays shared with the parent
        while task := os.read(tasks, _NUMBER.size):
            (at_hand[0],) = _NUMBER.unpack(task)
            write_all(results, done(at_hand[0]))
            at_hand[0] = _NONE
    finally:
        # Not by sys.exit: buffers, handlers and files of the parent are left alone.
        os._exit(0)
