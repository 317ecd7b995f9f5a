"""One line on standard error while work takes long: ``42% of 550.2 MiB libcublasLt.so.13``."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING

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
