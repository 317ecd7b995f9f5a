"""How a run ends: errors as one sentence and an exit code, whatever happens inside a verb."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TypeVar

from ltocompat.model.errors import (
    LimitExceeded,
    LtocompatError,
    Malformed,
    Missing,
    UnreadableInput,
    UsageError,
)
from ltocompat.report import Failure
from ltocompat.report.text import escape

OK = 0
FINDINGS = 1
USAGE = 2
NOTHING_JUDGED = 3
MISSING = 4
INTERNAL = 70
INTERRUPTED = 130
CLOSED_PIPE = 141  # 128 + SIGPIPE, as the shell reports cat and grep

_ORDER = (INTERNAL, USAGE, MISSING, FINDINGS, NOTHING_JUDGED, OK)
"""Where several codes apply, the first of these is the exit code."""

_KINDS: tuple[tuple[type[LtocompatError], str, int], ...] = (
    (UsageError, "usage", USAGE),
    (Missing, "missing", MISSING),
    (UnreadableInput, "unreadable", NOTHING_JUDGED),
    (LimitExceeded, "limit", NOTHING_JUDGED),
    (Malformed, "malformed", NOTHING_JUDGED),
    (LtocompatError, "failed", NOTHING_JUDGED),
)

R = TypeVar("R")


class ExitStatus:
    """Gathers what went wrong while the rest goes on.

    Attributes:
        code: the exit code so far.
    """

    def __init__(self) -> None:
        self.code = OK

    def worsen(self, code: int) -> None:
        """Let ``code`` count, unless a more important one does."""
        self.code = min(self.code, code, key=_ORDER.index)

    def each(
        self, paths: Iterable[str], use: Callable[[str], Iterable[R]]
    ) -> Iterator[R | Failure]:
        """What ``use`` yields for each path; an error becomes a ``Failure``, the rest goes on."""
        for path in paths:
            try:
                yield from use(path)
            except LtocompatError as error:
                yield self.failed(error)
            except BrokenPipeError:
                raise
            except Exception as error:  # noqa: BLE001 - any error ends as one sentence
                yield self.failed(error)
                return

    def all_of(
        self, use: Callable[[Callable[[LtocompatError], None]], Iterable[R]]
    ) -> Iterator[R | Failure]:
        """What ``use`` yields for all paths at once; it is handed what takes an error of one."""
        failures: list[Failure] = []

        def records(_: str) -> Iterator[R | Failure]:
            for record in use(lambda error: failures.append(self.failed(error))):
                yield from failures
                failures.clear()
                yield record

        yield from self.each(["all of them"], records)
        yield from failures

    def failed(self, error: Exception) -> Failure:
        """Say ``error`` on standard error and let it count."""
        failure, code = _explain(error)
        self.worsen(code)
        _say(failure.message)
        if code == INTERNAL and os.environ.get("LTOCOMPAT_TRACEBACK") == "1":
            import traceback

            traceback.print_exception(error)
        return failure


def _explain(error: Exception) -> tuple[Failure, int]:
    for known, kind, code in _KINDS:
        if isinstance(error, known):
            return Failure(kind, str(error)), code
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Failure(
        "internal",
        f"internal error ({text}); this is a bug of ltocompat, please report it with the output of "
        "LTOCOMPAT_TRACEBACK=1",
    ), INTERNAL


def _say(message: str) -> None:
    sys.stderr.write(f"ltocompat: {escape(message)}\n")


def write_error(kind: str, message: str) -> None:
    """Write the JSON document of one error to standard output."""
    from ltocompat.report.formats.jsonstream import error_document

    sys.stdout.write(error_document([Failure(kind, message)]))


def wants_json(arguments: list[str]) -> bool:
    """Whether arguments that could not be parsed ask for JSON."""
    pairs = pairwise(arguments)
    return "--format=json" in arguments or ("--format", "json") in pairs


def guarded(work: Callable[[ExitStatus], None], *, json: Callable[[], bool]) -> int:
    """Do ``work``; every way in which it can end becomes an exit code.

    Args:
        work: the verb.
        json: whether an error must be written as JSON (asked, and nothing written yet).
    """
    outcome = ExitStatus()
    try:
        work(outcome)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes standard output once more at exit, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - any error ends as one sentence
        failure = outcome.failed(error)
        if json():
            write_error(failure.kind, failure.message)
    return outcome.code
