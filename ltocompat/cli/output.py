"""Where a verb's answer goes: standard output, in the format asked for, beside a progress line."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ltocompat.cli.exit_status import ExitStatus, guarded
from ltocompat.cli.progress import ProgressLine
from ltocompat.model.errors import UsageError
from ltocompat.report import Failure, Options, Report
from ltocompat.report.text import escape

R = TypeVar("R")


def choose(option: str, value: str, valid: Iterable[str]) -> str:
    """``value``, when it is one of ``valid``.

    Raises:
        UsageError: it is not; the sentence names those that are.
    """
    choices = tuple(valid)
    if value not in choices:
        raise UsageError(f"{option} {value!r} is not known; give one of: {', '.join(choices)}")
    return value


def terminal_width() -> int | None:
    """Columns of the terminal that standard output is; None when it is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


class Output:
    """Standard output; it takes the progress line away before anything is printed over it.

    Attributes:
        used: whether anything was written.
        progress: the line on standard error.
    """

    def __init__(self) -> None:
        self.used = False
        self.progress = ProgressLine()
        self._shared = sys.stdout.isatty()

    def say(self, text: str) -> None:
        """Write a line for the user on standard error."""
        self.progress.erase()
        sys.stderr.write(f"ltocompat: {escape(text)}\n")

    def write(self, text: str, /) -> None:
        """Write ``text``."""
        self.used = True
        if self._shared:
            self.progress.erase()
        sys.stdout.write(text)


def answer(
    formats: Sequence[str] | None,
    report: Report[R],
    options: Options,
    records: Callable[[ExitStatus, Output], Iterable[R | Failure]],
    inputs: Iterable[str] = (),
) -> int:
    """Write ``records`` as a report and return the exit code.

    Args:
        formats: the formats, as the user wrote them; a table where there is none.
        report: how the verb's answer is said.
        options: what the reader asked for.
        records: starts the work; a ``UsageError`` that it raises at once ends the run.
        inputs: paths that are read, which no report replaces.
    """
    # Imported here: it needs this module.
    from ltocompat.cli.formats import FormatRequest, read_formats, refuse_to_replace, write_all
    from ltocompat.report.formats import formats_of

    output = Output()
    requests: list[FormatRequest] = []

    def work(outcome: ExitStatus) -> None:
        requests.extend(read_formats(formats or (), formats_of(report)))
        refuse_to_replace(requests, inputs)
        try:
            write_all(requests, report, records(outcome, output), output, options)
        finally:
            output.progress.erase()

    return guarded(work, json=lambda: FormatRequest("json", None) in requests and not output.used)
