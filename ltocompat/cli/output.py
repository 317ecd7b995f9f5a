"""Where a verb's answer goes: standard output, beside a progress line on standard error."""

from __future__ import annotations

import os
import shutil
import sys

from ltocompat.cli.progress import ProgressLine
from ltocompat.cli.streams import Answer
from ltocompat.report import Writable


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
