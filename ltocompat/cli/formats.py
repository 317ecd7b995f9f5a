"""The option ``--format FORMAT[=FILE]``, several times: one answer, written in several formats."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TextIO

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.cli.options import choose
from ltocompat.cli.output import colors_wanted, terminal_width
from ltocompat.commands.options import StrPath
from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.model.place import Place
from ltocompat.report import FORMATS, Options, Report, Writable, write, writer


class FormatRequest(Struct, frozen=True):
    """A format that was asked for.

    Attributes:
        name: name of the format.
        file: where it goes; None for standard output.
    """

    name: str
    file: str | None


class Writing(Struct, frozen=True):
    """How an answer is written.

    Attributes:
        write: writes the records that it is given to standard output, and to files.
        json: standard output is JSON, so that an error before it begins is JSON, too.
        files: where else it goes.
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
    """How a verb's records are written in the formats that were asked for.

    Args:
        texts: the values of ``--format``; none: a table.
        verb_report: the faces of the verb's answer.
        options: what the reader asked for.
        inputs: paths that are read, which no report replaces.

    Raises:
        UsageError: a format is not known, or two go to one place, or one would replace an input.
    """
    requests = read_formats(texts, verb_report.formats)
    # A line to paste that is broken can't be pasted.
    width = None if options.paste_for else terminal_width()
    options = replace(options, width=width, color=colors_wanted())
    refuse_to_replace(requests, inputs)
    writes: Callable[..., None] = functools.partial(write_all, requests, verb_report, options)
    if len(requests) == 1:
        # Written as the records come, by the format itself.
        write_in: Callable[..., None] = writer(requests[0].name)
        writes = functools.partial(write_in, verb_report, options=options)
    files = tuple(request.file for request in requests if request.file is not None)
    return Writing(writes, json=FormatRequest("json", None) in requests, files=files)


def read_formats(texts: Sequence[str], formats: Sequence[str] = FORMATS) -> list[FormatRequest]:
    """Return the format that was asked for; a table on standard output if nothing else goes there.

    Args:
        texts: ``FORMAT`` or ``FORMAT=FILE`` each.
        formats: those that the verb has.

    Raises:
        UsageError: a format is not known, or two of them go to the same place.
    """
    requests = list(dict.fromkeys(_request(text, formats) for text in texts))
    files = [os.path.realpath(request.file) if request.file else None for request in requests]
    if files.count(None) > 1:
        names = " and ".join(request.name for request in requests if request.file is None)
        raise UsageError(f"{names} both go to standard output; give one of them a file: =FILE")
    if len(set(files)) < len(files):
        raise UsageError("two formats go to one file; give each a file of its own")
    return requests if None in files else [FormatRequest("table", None), *requests]


def _request(text: str, formats: Sequence[str]) -> FormatRequest:
    name, mark, file = text.partition("=")
    if mark and not file:
        raise UsageError(f"--format {text!r} names no file; write {name}=FILE, or {name} alone")
    return FormatRequest(choose("--format", name, formats), file or None)


def write_all(
    requests: Sequence[FormatRequest],
    report: Report[Any],
    options: Options,
    records: Iterable[Any],
    output: Writable,
) -> None:
    """Write an answer in every format that was asked for; files first.

    One format is written as the records come; for several they are kept. A file is complete or as
    it was before.

    Args:
        requests: the formats; one of them goes to standard output.
        report: the faces of the verb's answer.
        options: what the reader asked for; nothing is cut in files.
        records: the answer.
        output: standard output.

    Raises:
        LtocompatError: a file can't be written.
    """
    with ExitStack() as stack:
        # Opened before the work begins: that a file can't be written is told at once.
        files = [
            (request.name, request.file, stack.enter_context(replaced(request.file)))
            for request in requests
            if request.file is not None
        ]
        kept = list(records) if files else records
        for name, path, file in files:
            with _writing(path):
                write(name, report, kept, file, replace(options, width=None, color=False))
                file.flush()
    (name,) = (request.name for request in requests if request.file is None)
    write(name, report, kept, output, options)


def refuse_to_replace(requests: Sequence[FormatRequest], inputs: Iterable[StrPath]) -> None:
    """See that no report replaces what it is about.

    Raises:
        UsageError: one would.
    """
    read = {os.path.realpath(Place.parse(os.fspath(path)).path) for path in inputs}
    for request in requests:
        if request.file is not None and os.path.realpath(request.file) in read:
            raise UsageError(
                f"--format {request.name} would replace {request.file}; name another file"
            )


@contextmanager
def replaced(path: str) -> Iterator[TextIO]:
    """A file to write, which takes the place of ``path`` when the ``with`` statement ends well."""
    final = os.path.realpath(path)
    device = os.path.exists(final) and not os.path.isfile(final)  # such as /dev/stderr, or a pipe
    part = final if device else f"{final}.{os.urandom(4).hex()}.part"
    with _writing(path):
        file = open(  # noqa: SIM115 - closed below
            part, "w" if device else "x", encoding="utf-8", errors="backslashreplace", newline="\n"
        )
    try:
        yield file
        with _writing(path):
            file.close()
            if not device:
                with suppress(OSError):
                    shutil.copymode(final, part)
                os.replace(part, final)
    finally:
        with suppress(OSError):
            file.close()
        if not device:
            with suppress(FileNotFoundError):
                os.unlink(part)


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """Raise an error that names ``path`` where it can't be written."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        sentence = f"{path!r} can't be written ({reason}); name a file that can be"
        raise LtocompatError(sentence) from error
