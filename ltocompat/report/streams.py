"""Standard streams: an answer on standard output, the progress of long work on standard error.

One that is closed, full or gone ends no run in a traceback.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from contextlib import suppress
from typing import IO, TextIO

from msgspec import Struct

from ltocompat.model.errors import LtocompatError
from ltocompat.model.failure import Progress
from ltocompat.model.watchdog import at_each_look
from ltocompat.report import Writable
from ltocompat.report.text import binary_size, clip_middle, escape

# Columns of lines without a terminal.
PIPED = 200


class AnswerLost(LtocompatError):
    """Standard output can't be written any more."""


class Answer(Struct):
    """Standard output with a one-sentence error if it can't be written."""

    _stream: Writable

    def write(self, text: str, /) -> None:
        """Write ``text``.

        Raises:
            AnswerLost: it can't be written.
            BrokenPipeError: the reader has closed the pipe.
        """
        try:
            self._stream.write(text)
        except OSError as error:
            raise lost(error) from error


def flush_answer() -> None:
    """Write the rest of the answer.

    Raises:
        AnswerLost: it can't be written.
        BrokenPipeError: the reader has closed the pipe.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        raise lost(error) from error


def lost(error: OSError) -> Exception:
    """Return the error for unwritable standard output, and drop its buffer."""
    forget(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return error
    reason = error.strerror or type(error).__name__
    return AnswerLost(f"standard output can't be written ({reason}); make room, or name a file")


class Messages:
    """Standard error, on which a message that can't be written is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        """Write ``text`` if possible."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            forget(self._stream)
        return len(text)

    def __getattr__(self, name: str) -> object:
        """Everything else is the stream's own."""
        return getattr(self._stream, name)


def terminal_width(stream: TextIO) -> int | None:
    """Return the columns of a terminal; None if the stream is not one."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def forget(stream: TextIO) -> None:
    """Redirect a stream to nothing, so that Python's flush at exit succeeds."""
    with suppress(OSError, ValueError):  # it is not a file of the system, or closed for good
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def replace_missing_streams() -> None:
    """Open Python's standard streams if the process started without them, and guard messages.

    Reading or writing a missing stream fails, unlike an empty one. A non-blocking stream, which
    some programs pass on, would lose output that does not fit into a pipe, so it is made blocking.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, _closed(mode))
        elif sys.platform != "win32":
            with suppress(OSError, ValueError):
                os.set_blocking(stream.fileno(), True)
    sys.stderr = Messages(sys.stderr)


def _closed(mode: str) -> IO[str]:
    """A stream in the place of a closed one: reading and writing it fail, by any name of it."""
    stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - to the end
    # /dev/stderr opens anew what the descriptor shows: a file could be written, a folder can't.
    closed = os.open(os.devnull if sys.platform == "win32" else os.sep, os.O_RDONLY)
    os.dup2(closed, stream.fileno(), inheritable=False)
    os.close(closed)
    return stream


_PATIENCE = 1.0  # seconds of work before the line appears
_WORTH_SAYING = 60.0  # seconds that are left, from which on they are shown
_PERIOD = 0.1  # seconds between two states of it
_LINES_PATIENCE = 5.0  # seconds of work before the first line where nothing can be written over
_LINES_PERIOD = 10.0  # seconds between two of them at most, however long one member takes


class ProgressLine:
    """The progress of the current file, shown if the work takes a while.

    On a terminal, it is one line that is overwritten; else a line now and then.
    """

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._begun = self._since = self._heard = time.monotonic()
        self._next = self._begun + (_PATIENCE if self._terminal else _LINES_PATIENCE)
        self._last: Progress | None = None
        self._shown = 0
        at_each_look.append(self._still_at_work)

    def __call__(self, progress: Progress) -> None:
        """Take note of ``progress`` and show it when it is time to."""
        self._heard = time.monotonic()
        if self._last is None or self._last.path != progress.path:
            self._since = self._heard
        self._last = progress
        if self._overdue():
            sys.stderr.write(self._shown_line())
            sys.stderr.flush()

    def _still_at_work(self) -> None:
        stale = time.monotonic() - self._heard > _LINES_PATIENCE
        if (stale or not self._terminal) and self._overdue():
            line = self._shown_line(", still at work")
            with suppress(OSError):  # not through a stream that may be writing just now
                os.write(2, line.encode("utf-8", "backslashreplace"))

    def _overdue(self) -> bool:
        """Return whether it is time to show something, which counts from now on as shown."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + (_PERIOD if self._terminal else min(now - self._begun, _LINES_PERIOD))
        return True

    def close(self) -> None:
        """Remove the line for good."""
        self.erase()
        at_each_look.clear()

    def erase(self) -> None:
        """Take the line away."""
        if self._shown:
            # Blanks, since not every terminal knows the sequence that clears a line.
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()
            self._shown = 0

    def _shown_line(self, end: str = "") -> str:
        """Return the text of a line, over the last one on a terminal, which counts as shown."""
        start = "" if self._terminal else "ltocompat: "
        width = shutil.get_terminal_size().columns - 1 if self._terminal else PIPED
        if self._last is None:
            line = f"{start}still at work after {time.monotonic() - self._begun:.0f} s"
        else:
            state = start + self._state(self._last, stands_still=bool(end))
            room = max(width - len(state + end), 8)
            line = state + clip_middle(escape(self._last.path), room) + end
        if not self._terminal:
            return line + "\n"
        line, self._shown = line.ljust(self._shown), max(self._shown, len(line))
        return f"\r{line}"

    def _state(self, progress: Progress, *, stands_still: bool) -> str:
        if progress.done >= progress.total:
            return "just read: "  # a tiny file is done at once: its size tells nothing
        percent = 100 * progress.done // progress.total
        if not percent:  # of a large member, nothing is known before all of it is read
            return f"reading {binary_size(progress.total)} "
        # As quick as what is done of the path; the first seconds and a standstill tell nothing.
        spent, done = time.monotonic() - self._since, progress.done
        left = spent * (progress.total - done) / done if done and spent > _LINES_PERIOD else 0.0
        worth = left > _WORTH_SAYING and not stands_still
        time_left = f"({left / 60:.0f} min left) " if worth else ""
        return f"{percent:{3 * self._terminal}d}% of {binary_size(progress.total)} {time_left}"


class _AfterErasing(Struct):
    """A terminal's stream that takes the progress line away before anything is printed over it."""

    _stream: Writable
    _progress: ProgressLine

    def write(self, text: str, /) -> None:
        """Write ``text``."""
        self._progress.erase()
        self._stream.write(text)


class Output:
    """The streams of one run.

    Attributes:
        answer: standard output.
        messages: standard error, for sentences.
        progress: the progress line on standard error.
    """

    def __init__(self) -> None:
        self.answer: Writable = Answer(sys.stdout)
        self.messages: Writable = sys.stderr
        self.progress = ProgressLine()
        if sys.stderr.isatty():
            self.messages = _AfterErasing(sys.stderr, self.progress)
            if sys.stdout.isatty():
                self.answer = _AfterErasing(self.answer, self.progress)


def colors_wanted() -> bool:
    """Return whether standard output shows colours; by default, only a terminal does.

    As in Python itself, ``NO_COLOR`` counts before ``FORCE_COLOR``, and an empty value doesn't
    count.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
