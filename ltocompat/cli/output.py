"""Where a verb's answer goes: standard output, beside a progress line on standard error."""

from __future__ import annotations

import os
import shutil
import sys

from ltocompat.model.failure import PacedProgress, Progress
from ltocompat.report import Writable
from ltocompat.report.streams import Answer
from ltocompat.report.text import binary_size, clip_middle, escape

_PATIENCE = 1.0  # seconds of work before the line appears
_PERIOD = 0.1  # seconds between two states of it
_LINES_PATIENCE = 5.0  # seconds of work before the first line where nothing can be written over
_LINES_PERIOD = (
    60.0  # seconds between two such lines at most; before, each comes after twice the time
)


class ProgressLine(PacedProgress):
    """Shows how far the current file is read or tried.

    On a terminal that is one line, which is written over; else it is a line now and then.
    """

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        super().__init__(_PATIENCE if self._terminal else _LINES_PATIENCE)
        self._shown = 0

    def pause(self, elapsed: float) -> float:
        """See ``PacedProgress``."""
        return _PERIOD if self._terminal else min(elapsed, _LINES_PERIOD)

    def show(self, progress: Progress) -> None:
        """See ``PacedProgress``."""
        if self._terminal:
            self._write_over(progress)
        else:
            sys.stderr.write(f"{_state(progress)}{escape(progress.path)}\n")
            sys.stderr.flush()

    def erase(self) -> None:
        """Take the line away."""
        if self._shown:
            # Blanks, since not every terminal knows the sequence that clears a line.
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()
            self._shown = 0

    def _write_over(self, progress: Progress) -> None:
        done = _state(progress)
        room = shutil.get_terminal_size().columns - 1 - len(done)
        text = done + clip_middle(escape(progress.path), max(room, 8))
        sys.stderr.write("\r" + text.ljust(self._shown))
        sys.stderr.flush()
        self._shown = max(self._shown, len(text))


def _state(progress: Progress) -> str:
    percent = 100 * progress.done // progress.total if progress.total else 100
    return f"{min(percent, 100):3d}% of {binary_size(progress.total)} "


def terminal_width() -> int | None:
    """Columns of the terminal that standard output is; None when it is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def colors_wanted() -> bool:
    """Return whether standard output shows colours: by default a terminal does.

    As Python itself decides it: ``NO_COLOR`` counts before ``FORCE_COLOR``, and an empty value is
    none.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


class _AfterErasing:
    """A terminal's stream that takes the progress line away before anything is printed over it."""

    def __init__(self, stream: Writable, progress: ProgressLine) -> None:
        self._stream = stream
        self._progress = progress

    def write(self, text: str, /) -> None:
        """Write ``text``."""
        self._progress.erase()
        self._stream.write(text)


class Output:
    """The streams of one run.

    Attributes:
        answer: standard output.
        messages: standard error, for sentences.
        progress: what is shown on standard error of how far the work is.
    """

    def __init__(self) -> None:
        self.answer: Writable = Answer(sys.stdout)
        self.messages: Writable = sys.stderr
        self.progress = ProgressLine()
        if sys.stderr.isatty():
            self.messages = _AfterErasing(sys.stderr, self.progress)
            if sys.stdout.isatty():
                self.answer = _AfterErasing(self.answer, self.progress)

    def close(self) -> None:
        """Take the progress line away."""
        self.progress.erase()
