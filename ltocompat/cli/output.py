"""Where a verb's answer goes: standard output, beside a progress line on standard error."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import TYPE_CHECKING

from ltocompat.report import Writable
from ltocompat.report.streams import Answer
from ltocompat.report.text import binary_size, clip_middle, escape

if TYPE_CHECKING:
    from ltocompat.model.failure import Progress


_PATIENCE = 1.0  # seconds of work before the line appears
_PERIOD = 0.1  # seconds between two states of it
_LINES_PERIOD = 10.0  # seconds between two lines where nothing can be written over


class ProgressLine:
    """Shows how far the current file is read, on a terminal.

    Args:
        lines: where standard error is no terminal, write a line every 10 seconds; else nothing.
    """

    def __init__(self, *, lines: bool = False) -> None:
        self._terminal = sys.stderr.isatty()
        self._lines = lines and not self._terminal
        self._next = time.monotonic() + (_LINES_PERIOD if self._lines else _PATIENCE)
        self._shown = 0

    def __call__(self, progress: Progress) -> None:
        """Take note of ``progress`` and show it when it is time to."""
        if not self._terminal and not self._lines:
            return
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (_LINES_PERIOD if self._lines else _PERIOD)
        if self._lines:
            sys.stderr.write(f"{_state(progress)}{escape(progress.path)}\n")
            sys.stderr.flush()
        else:
            self._show(progress)

    def erase(self) -> None:
        """Take the line away."""
        if self._shown:
            # Blanks, since not every terminal knows the sequence that clears a line.
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()
            self._shown = 0

    def _show(self, progress: Progress) -> None:
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
    """Whether standard output shows colours: a terminal does, unless the user says otherwise.

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
        progress: the line on standard error; None where that is no terminal and there are no lines.
    """

    def __init__(self, *, lines: bool = False) -> None:
        """``lines``: where standard error is no terminal, write a line now and then instead."""
        self.answer: Writable = Answer(sys.stdout)
        self.messages: Writable = sys.stderr
        self.progress: ProgressLine | None = None
        if sys.stderr.isatty():
            self.progress = ProgressLine()
            self.messages = _AfterErasing(sys.stderr, self.progress)
            if sys.stdout.isatty():
                self.answer = _AfterErasing(self.answer, self.progress)
        elif lines:
            self.progress = ProgressLine(lines=True)

    def close(self) -> None:
        """Take the progress line away."""
        if self.progress is not None:
            self.progress.erase()
