"""Work that forked processes share; its results come in order, as one process would give them.

A worker is a copy of this process, so that it knows all that was read before. What it can't do
(an error, a limit, its death) is done again here: errors and answers are those of one process.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from mmap import mmap
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import TYPE_CHECKING, Generic, cast

from ltocompat.model import watchdog
from ltocompat.model.closing import Closing
from ltocompat.model.generic import R, T
from ltocompat.model.limits import MIB

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess


_NUMBER = struct.Struct("<q")
_NOT_DONE = b""  # in place of a pickled result
_QUEUED = 2  # tasks for each worker, so that it never waits for the next one
# A page of them, which every pipe takes: they are written before any worker reads.
_MOST_QUEUED = 4096 // _NUMBER.size
_MOST_KEPT = 64 * MIB  # results whose turn has not come, bytes
_PIPE_SIZE = MIB
_CGROUPS = Path("/sys/fs/cgroup")
_PERIOD = 0.1  # seconds between two reports of progress

_inside = False
_bytes_read: list[memoryview] = []  # of the current item of a worker, shared with its parent


def inside() -> bool:
    """Return whether this process is a worker, which starts no workers."""
    return _inside


def tell_parent(bytes_read: int) -> None:
    """Tell the parent how many bytes of the current item this worker has read."""
    for number in _bytes_read:
        number[0] = bytes_read


def available(jobs: int | None = None) -> int:
    """Return the number of processes that may read at the same time; 1: only this process.

    Args:
        jobs: the user's number; None: the number of cores for this process.
    """
    if sys.platform != "linux" or _inside or jobs == 1:
        return 1
    # A fork copies no thread but its own, and what another one holds stays locked.
    return 1 if _threads() > 1 or _is_worker_of_others() else jobs or cores()


def _threads() -> int:
    """Threads of this process, those of libraries too; without /proc only those of Python."""
    with contextlib.suppress(OSError):
        return len(os.listdir("/proc/self/task"))
    return threading.active_count()


def _is_worker_of_others() -> bool:
    """Return whether a pool of processes started this one: its cores are busy with its siblings."""
    multiprocessing = sys.modules.get("multiprocessing")
    return multiprocessing is not None and multiprocessing.parent_process() is not None


def cores() -> int:
    """Return the number of cores that this process may use, also by its control group."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    return min([len(os.sched_getaffinity(0)), *_quotas()])


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


class Pool(Closing, Generic[T, R]):
    """Workers and their results; they begin at once, and end with the ``with`` block.

    Iterating yields the result of ``work`` for each item, in the order of the items; None: the
    caller has to do the item. All workers take the numbers of their items from one pipe, so that
    none waits for this process, which may be busy. Each reports the item that it takes, then the
    result.

    Args:
        work: does one item; its result has to be picklable.
        items: the items.
        number: number of workers.
        order: numbers of the items in the order in which to begin them; None: their own order.
        queued: number of items in the pipe for each worker; large for short items.
        waiting: called with the bytes of each item that were read, while there is no result.
    """

    def __init__(
        self,
        work: Callable[[T], R],
        items: Sequence[T],
        number: int,
        order: Sequence[int] | None = None,
        queued: int = _QUEUED,
        *,
        waiting: Callable[[Sequence[int]], None] | None = None,
    ) -> None:
        number = min(number, len(items))
        self._count = len(items)
        self._waiting = waiting
        self._read = memoryview(mmap(-1, (len(items) or 1) * 8)).cast("q")
        self._todo = deque(range(len(items)) if order is None else order)
        self._most = min(number * queued, _MOST_QUEUED)
        self._done: dict[int, bytes] = {}
        self._kept = 0
        self._given = 0  # and not done
        self._at_hand: dict[Connection, int] = {}
        self._workers: dict[Connection, BaseProcess] = {}  # by where their results come from
        self._tasks: int | None = None
        self._selector = DefaultSelector()
        try:
            self._start(work, items, number)
        except OSError:  # no process, no pipe: there are fewer then
            pass
        except BaseException:
            self.close()
            raise

    def _start(self, work: Callable[[T], R], items: Sequence[T], number: int) -> None:
        import pickle  # before any worker is forked: else each would do it
        from multiprocessing import get_context

        def done(task: int) -> bytes:
            try:
                _bytes_read[:] = [self._read[task : task + 1]]
                return pickle.dumps(work(items[task]), pickle.HIGHEST_PROTOCOL)
            except Exception:  # noqa: BLE001 - the parent does it again, and says what is wrong
                return _NOT_DONE
            finally:
                tell_parent(sys.maxsize)

        context = get_context("fork")
        tasks, self._tasks = os.pipe()
        try:
            self._hand_out(0)
            for _ in range(number):
                found, results = context.Pipe(duplex=False)
                widen(results.fileno())
                # Whoever can write to a pipe keeps its reader waiting.
                others = [found.fileno(), *(worker.fileno() for worker in self._workers)]
                others += [] if self._tasks is None else [self._tasks]
                arguments = (done, tasks, results, others)
                with _uninterrupted():
                    worker = context.Process(target=_run, args=arguments, daemon=True)
                    worker.start()
                    self._workers[found] = worker
                results.close()
                self._selector.register(found, EVENT_READ)
        finally:
            os.close(tasks)

    def __iter__(self) -> Iterator[R | None]:
        import pickle

        for number in range(self._count):
            result = self._result(number)
            yield pickle.loads(result) if result else None  # noqa: S301 - our own

    def _result(self, number: int) -> bytes:
        """Return the pickled result for an item; nothing if it has to be computed here."""
        while number not in self._done:
            self._hand_out(number)
            if not self._workers:
                return _NOT_DONE
            self._receive()
        result = self._done.pop(number)
        self._kept -= len(result)
        return result

    def close(self) -> None:
        """End all workers immediately."""
        self._hand_out_no_more()
        for worker in self._workers.values():
            worker.kill()
        for found in tuple(self._workers):
            self._leave(found)
        self._selector.close()

    def _leave(self, found: Connection) -> None:
        """Let go of a worker, once it is killed or ends."""
        found.close()
        self._workers.pop(found).join()

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
        while not (ready := self._selector.select(self._waiting and _PERIOD)) and self._waiting:
            self._waiting(self._read)
        for key, _ in ready:
            found = cast("Connection", key.fileobj)
            if found not in self._workers:  # all were ended
                return
            try:
                data = found.recv_bytes()
            except (EOFError, OSError):
                self._lose(found)
                continue
            if found in self._at_hand:
                self._take(self._at_hand.pop(found), data)
            else:
                (self._at_hand[found],) = _NUMBER.unpack(data)

    def _take(self, number: int, result: bytes) -> None:
        self._done[number] = result
        self._kept += len(result)
        self._given -= 1

    def _lose(self, found: Connection) -> None:
        """A worker has ended: what it was at is done here."""
        self._selector.unregister(found)
        self._leave(found)
        if found in self._at_hand:
            self._take(self._at_hand.pop(found), _NOT_DONE)
        elif self._tasks is not None:  # it died, and nobody knows whether it had taken a number
            self.close()


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Have Ctrl-C wait: between a fork and its being known here, nobody would end the worker."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def widen(pipe: int) -> None:
    """Make room in a pipe for a result or a batch, so that its writer can continue."""
    import fcntl

    with contextlib.suppress(OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)


def _run(
    done: Callable[[int], bytes], tasks: int, results: Connection, others: Iterable[int]
) -> None:
    """Run a worker: do each task that comes, until the parent sends no more; never returns."""
    global _inside  # noqa: PLW0603 - of this process
    try:
        for other in others:
            os.close(other)
        _inside = True
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
        watchdog.rearm_after_fork()
        gc.freeze()  # what was there before stays shared with the parent
        while task := os.read(tasks, _NUMBER.size):
            results.send_bytes(task)
            results.send_bytes(done(*_NUMBER.unpack(task)))
    finally:
        # Not by sys.exit: buffers, handlers and files of the parent are left alone.
        os._exit(0)
