"""Run a command, write what it yields in the formats asked for, and end in an exit code.

An answer goes to standard output, beside a progress line on standard error, and to files.
"""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.cli.options import FormatRequest, read_formats, refuse_to_replace
from ltocompat.commands.options import StrPath
from ltocompat.model.failure import TRIAL_LOGGER, Failure
from ltocompat.model.watchdog import Overdue
from ltocompat.report import Options, Report, Writable, writer
from ltocompat.report.exit_status import CLOSED_PIPE, INTERNAL, INTERRUPTED, ExitStatus, log
from ltocompat.report.streams import AnswerLost, Output, colors_wanted, flush_answer, terminal_width

Opts = TypeVar("Opts", bound=Struct)  # its records are whatever its report takes


def run_verb(
    command: Callable[[Opts], Iterable[Any]],
    options: Opts,
    writing: Writing,
    status: ExitStatus[Any],
) -> int:
    """Call the command with its options, write its records and return the exit code.

    Args:
        command: gives the records; an error before the first record ends the run, a later one ends
            the records as a ``Failure``.
        options: the command's options; if it reports progress, the progress line shows it.
        writing: writes the records.
        status: gets the exit code from the records.
    """
    output = Output()
    if hasattr(options, "progress"):
        options = replace(options, progress=output.progress)
    with _showing_trials(output):
        begun = False
        try:
            records = status.track(command(_of_platform(options)), output.messages)
            begun = True
            writing.write(records, output.answer)
            flush_answer()
        except BrokenPipeError:
            return CLOSED_PIPE
        except KeyboardInterrupt:
            log("interrupted", output.messages)
            return INTERRUPTED
        except Overdue as error:
            log(str(error), output.messages)
            return INTERNAL
        except Exception as error:  # noqa: BLE001 - any error ends as one sentence
            failure = status.failed(error, output.messages)
            # Errors of ours come before the first word of an answer: others are records.
            writable = not isinstance(error, AnswerLost)
            if writable and writing.json and (failure.error is not None or not begun):
                write_error(failure)
        finally:
            output.progress.close()
    return status.code


def _of_platform(options: Opts) -> Opts:
    """The options, with the image for ``--platform`` in place of each archive of several."""
    platform = getattr(options, "platform", None)
    if platform is None:
        return options
    # Imported here: hardly any run names a platform.
    from ltocompat.files.archives.image_path import of_platform

    if hasattr(options, "root"):
        return replace(options, root=of_platform(options.root or "", platform))
    paths = getattr(options, "paths", ())
    lock = getattr(options, "survey", None) is not None  # whose releases are for the platform
    images = tuple(of_platform(str(path), platform, or_file=lock) for path in paths)
    return replace(options, paths=images)


class _TrialHandler(logging.Handler):
    """Shows each message about trials as a line, once a run."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self._output, self._shown = output, set[str]()

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message not in self._shown:
            log(message, self._output.messages)
        self._shown.add(message)


@contextmanager
def _showing_trials(output: Output) -> Iterator[None]:
    """Show what is logged about trials."""
    logger, handler = logging.getLogger(TRIAL_LOGGER), _TrialHandler(output)
    before = logger.level, logger.propagate
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before


def write_error(failure: Failure) -> None:
    """Write the JSON document of one error to standard output."""
    from ltocompat.report.formats.jsonstream import error_document

    sys.stdout.write(error_document([failure]))


class Writing(Struct, frozen=True):
    """The writer of an answer.

    Attributes:
        write: writes records to standard output and to files.
        json: True if standard output is JSON, so that an early error is JSON, too.
        files: the files that it also writes.
    """

    write: Callable[[Iterable[Any], Writable], None]
    json: bool
    files: tuple[str, ...] = ()


def in_format(
    texts: Sequence[str],
    verb_report: Report[Any],
    options: Options = Options(),  # noqa: B008 - frozen
    inputs: Iterable[StrPath] = (),
) -> Writing:
    """Return the writer of a verb's records in the requested formats.

    Args:
        texts: the values of ``--format``; none: a table.
        verb_report: the report of the verb's answer.
        options: the reader's options.
        inputs: paths that are read; no report may replace them.

    Raises:
        UsageError: a format is unknown, two go to one file, or one would replace an input.
    """
    requests = read_formats(texts, verb_report.formats)
    # A line to paste that is broken can't be pasted.
    width = None if options.paste_for else terminal_width(sys.stdout)
    options = replace(options, width=width, color=colors_wanted())
    refuse_to_replace(requests, inputs)
    writes: Callable[..., None] = functools.partial(write_all, requests, verb_report, options)
    if len(requests) == 1:
        # Written as the records come, by the format itself.
        write_in: Callable[..., None] = writer(requests[0].name)
        writes = functools.partial(write_in, verb_report, options=options)
    files = tuple(request.file for request in requests if request.file is not None)
    return Writing(writes, json=FormatRequest("json", None) in requests, files=files)


def write_all(
    requests: Sequence[FormatRequest],
    report: Report[Any],
    options: Options,
    records: Iterable[Any],
    output: Writable,
) -> None:
    """Write an answer in every requested format; files first.

    One format is written record by record; for several formats the records are kept. A file is
    complete, or unchanged after an error.

    Args:
        requests: the formats; one of them goes to standard output.
        report: the report of the verb's answer.
        options: the reader's options; nothing is truncated in files.
        records: the answer.
        output: standard output.

    Raises:
        LtocompatError: a file can't be written.
    """
    # Imported here: most answers go to standard output alone.
    from ltocompat.files.output import replaced, writing

    with ExitStack() as stack:
        # Opened before the work begins: that a file can't be written is told at once.
        files = [
            (request.name, request.file, stack.enter_context(replaced(request.file)))
            for request in requests
            if request.file is not None
        ]
        kept = list(records) if files else records
        for name, path, file in files:
            with writing(path):
                writer(name)(report, kept, file, replace(options, width=None, color=False))
                file.flush()
    (name,) = (request.name for request in requests if request.file is None)
    writer(name)(report, kept, output, options)
