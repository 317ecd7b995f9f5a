"""An answer as an exit code: what the records of a verb make of it, as they pass."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from ltocompat.model.failure import Failure, Note
from ltocompat.report import Writable
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

_OF_FAILURE = {"internal": INTERNAL, "usage": USAGE, "missing": MISSING}

R = TypeVar("R")


class ExitStatus(Generic[R]):
    """Watches the records of a command pass; a verb whose answer counts says how in a subclass.

    Attributes:
        code: the exit code so far.
    """

    def __init__(self) -> None:
        self.code = OK

    def worsen(self, code: int) -> None:
        """Let ``code`` count, unless a more important one does."""
        self.code = min(self.code, code, key=_ORDER.index)

    def take(self, record: R) -> None:
        """Let a record of the answer count."""

    def end(self) -> Iterator[Note]:
        """Let count that there are no more records; yields what the user should know of that."""
        return iter(())

    def fail(self, failure: Failure, messages: Writable) -> None:
        """Let a failure count, and write its sentence to ``messages``."""
        self.worsen(_OF_FAILURE.get(failure.kind, NOTHING_JUDGED))
        tell(failure.message, messages)

    def watch(
        self, records: Iterable[R | Failure | Note], messages: Writable
    ) -> Iterator[R | Failure]:
        """Pass the records on; an error ends them as a ``Failure``.

        Args:
            records: what a command yields.
            messages: gets the sentences of failures and notes.
        """
        try:
            for record in records:
                if isinstance(record, Note):
                    tell(record.message, messages)
                    continue
                if isinstance(record, Failure):
                    self.fail(record, messages)
                else:
                    self.take(record)
                yield record
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - any error ends as one sentence
            yield self.failed(error, messages)
        for note in self.end():
            tell(note.message, messages)

    def failed(self, error: Exception, messages: Writable) -> Failure:
        """Let an error count as the failure that it is."""
        failure = Failure.of(error)
        self.fail(failure, messages)
        if failure.kind == "internal" and os.environ.get("LTOCOMPAT_TRACEBACK") == "1":
            import traceback

            messages.write("".join(traceback.format_exception(error)))
        return failure


def tell(message: str, messages: Writable) -> None:
    """Write one line for the user."""
    messages.write(f"ltocompat: {escape(message)}\n")
