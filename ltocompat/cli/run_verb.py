"""Run a command, write what it yields, and end in an exit code, whatever happens."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.cli.formats import Writing
from ltocompat.cli.output import Output
from ltocompat.model.failure import Failure
from ltocompat.model.watchdog import Overdue
from ltocompat.report.exit_status import CLOSED_PIPE, INTERNAL, INTERRUPTED, ExitStatus, tell
from ltocompat.report.streams import AnswerLost, flush_answer

Opts = TypeVar("Opts", bound=Struct)  # its records are whatever its report takes


def run_verb(
    command: Callable[[Opts], Iterable[Any]],
    options: Opts,
    writing: Writing,
    status: ExitStatus[Any],
) -> int:
    """Call the command with its options and write its records; the exit code.

    Args:
        command: gives the records; what it raises at once ends the run, what it raises later ends
            the records as a ``Failure``.
        options: what it is called with; where it tells of its progress, the progress line hears it.
        writing: how they are written.
        status: what the records make of the exit code.
    """
    output = Output()
    if hasattr(options, "progress"):
        options = replace(options, progress=output.progress)
    begun = False
    try:
        records = status.watch(command(options), output.messages)
        begun = True
        writing.write(records, output.answer)
        flush_answer()
    except BrokenPipeError:
        return CLOSED_PIPE
    except KeyboardInterrupt:
        tell("interrupted", output.messages)
        return INTERRUPTED
    except Overdue as error:
        tell(str(error), output.messages)
        return INTERNAL
    except Exception as error:  # noqa: BLE001 - any error ends as one sentence
        failure = status.failed(error, output.messages)
        # Errors of ours come before the first word of an answer: later ones are among the records.
        writable = not isinstance(error, AnswerLost)
        if writable and writing.json and (failure.error is not None or not begun):
            write_error(failure)
    finally:
        output.close()
    return status.code


def write_error(failure: Failure) -> None:
    """Write the JSON document of one error to standard output."""
    from ltocompat.report.formats.jsonstream import error_document

    sys.stdout.write(error_document([failure]))


def wants_json(arguments: list[str]) -> bool:
    """Return whether arguments that could not be read ask for JSON."""
    pairs = pairwise(arguments)
    return "--format=json" in arguments or ("--format", "json") in pairs
