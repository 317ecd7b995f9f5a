"""One input, read under watch: errors, time, memory, and whatever is written to the terminal."""

from __future__ import annotations

import faulthandler
import gc
import os
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

import ltocompat
from ltocompat.files.fatbin import region
from ltocompat.model import limits, watchdog
from ltocompat.model.errors import LtocompatError

MEMORY = 160 << 20
"""What one input may take beyond what the process has, bytes: an image of 64 MiB, which LZ4 gives
twice, and a quarter more."""
_SOME = 4 << 20
_MOST_MEMORY = 3 << 30  # of the process; what asks for more gets a MemoryError
_OURS = Path(ltocompat.__file__).parent
_SHORT = 16 << 10
_LONG_ENOUGH = 0.9  # seconds of CPU for a short input: less than what ``LIMITS`` give a file
_ENDLESS = 240  # seconds of wall clock after which a process that C code holds ends with a trace


class _CpuClock:
    """The clock of budgets: other processes on the machine take no time away."""

    monotonic = staticmethod(time.process_time)


class Broken(Exception):
    """A law or a contract is broken; the sentence says which, without values of the input."""


class TooLong(BaseException):
    """An input took so long that nobody waits for its end."""


class Watch:
    """Watches what inputs do to this process, while it is open.

    Attributes:
        spent: seconds of CPU that the last input took.
        answer: what the reader made of it.
    """

    def __init__(self) -> None:
        self._armed = 0.0
        self._least = 0
        self.spent = 0.0
        self.answer: object = None
        self._before = ExitStack()

    def __enter__(self) -> Self:
        gc.collect()  # what others left open is closed before warnings of it are seen
        self._before.enter_context(warnings.catch_warnings())
        warnings.simplefilter("always", ResourceWarning)  # they go to standard error, and are seen
        handler = signal.signal(signal.SIGVTALRM, _too_long)
        self._before.callback(signal.signal, signal.SIGVTALRM, handler)
        self._before.callback(faulthandler.cancel_dump_traceback_later)
        for module in (limits, region, watchdog):
            self._before.callback(setattr, module, "time", time)
            vars(module)["time"] = _CpuClock()
        forget_highest()
        self._least = highest_memory()
        return self

    def __exit__(self, *_: object) -> None:
        self._before.close()

    def failure(
        self, read: Callable[[bytes], object], data: bytes, seconds: float = 2.0
    ) -> str | None:
        """What is wrong with how these bytes are read; None where all is well.

        Args:
            read: the reader.
            data: the input.
            seconds: of CPU that it may take.
        """
        if len(data) <= _SHORT and seconds <= 2:  # one that is as slow as it may be is a slow loop
            seconds = min(seconds, _LONG_ENOUGH)
        now = time.monotonic()
        if now - self._armed > 1:
            faulthandler.dump_traceback_later(_ENDLESS, exit=True)
            self._armed = now
        before, files = self._memory(), _open_files()
        start = time.process_time()
        what = self._read(read, data, seconds)
        spent = time.process_time() - start
        if what is None and spent > seconds:
            start = time.process_time()  # once more: another process may have slowed it down
            what = self._read(read, data, seconds)
            spent = time.process_time() - start
            what = what or ("too long" if spent > seconds else None)
        if highest_memory() - before > MEMORY:
            what = what or "too much memory"
        what = what or _left_open(files)
        self.spent = spent
        return what

    def _memory(self) -> int:
        """What the process has, bytes; a peak, such as of who made the input, is forgotten."""
        if highest_memory() - self._least > _SOME:
            forget_highest()
        highest = highest_memory()
        self._least = min(self._least, highest)
        return highest

    def _read(self, read: Callable[[bytes], object], data: bytes, seconds: float) -> str | None:
        streams = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = terminal = _Terminal()
        signal.setitimer(signal.ITIMER_VIRTUAL, 1.5 * seconds)
        self.answer = None
        try:
            self.answer = read(data)
        except LtocompatError as error:
            if len(str(error)) > 5_000:
                return "a sentence without end"
        except TooLong:
            return "too long"
        except Exception as error:  # noqa: BLE001 - what this is for
            return _what(error)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            sys.stdout, sys.stderr = streams
        return f"output: {terminal.first}" if terminal.first else None


def confine() -> None:
    """Let this process, which is given away, have only so much memory."""
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))


def _what(error: Exception) -> str:
    """What is wrong, in the same words for what is alike."""
    if isinstance(error, Broken):
        return str(error)[:200]
    alike = {MemoryError: "too much memory", RecursionError: "RecursionError"}
    return alike.get(type(error)) or f"{type(error).__name__} at {_where(error.__traceback__)}"


class _Terminal:
    """A stream that nothing should be written to."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.first = ""

    def write(self, text: str) -> int:
        if not self.first:
            self.first = text.strip().partition("\n")[0][:80]
        return len(text)

    def flush(self) -> None:
        """Nothing is kept."""


def _too_long(_: int, __: FrameType | None) -> None:
    raise TooLong


def _where(trace: TracebackType | None) -> str:
    """The last line of ours that was at work, else the last of all."""
    places = []
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        places.append((_OURS in path.parents, f"{path.name}:{trace.tb_lineno}"))
        trace = trace.tb_next
    return next((place for ours, place in reversed(places) if ours), places[-1][1])


def _open_files() -> int:
    """How many this process has; 0 where the system doesn't say."""
    with suppress(OSError):
        return len(os.listdir("/proc/self/fd"))
    return 0


def _left_open(before: int) -> str | None:
    """Whether a file stays open that nobody refers to."""
    if _open_files() > before:
        gc.collect()
    return "a file is left open" if _open_files() > before else None


def highest_memory() -> int:
    """The most memory that this process ever had, bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def forget_highest() -> None:
    """Begin to look for a new peak."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_bytes(b"5")
