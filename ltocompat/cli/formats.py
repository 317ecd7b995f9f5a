"""The option ``--format FORMAT[=FILE]``, several times: one answer, told in several languages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ltocompat.cli.output import Output, choose
from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.report import Options, write

if TYPE_CHECKING:
    from ltocompat.report.audit_result import Audit

FORMATS = ("table", "json", "markdown", "sarif", "github", "html")
"""The formats; each is a module of ``ltocompat.report``."""


class FormatRequest(NamedTuple):
    """A format that was asked for.

    Attributes:
        name: one of ``FORMATS``.
        file: where it goes; None for standard output.
    """

    name: str
    file: str | None


def read_formats(texts: Sequence[str]) -> list[FormatRequest]:
    """What was asked for; a table on standard output, where nothing else goes there.

    Raises:
        UsageError: a format is not known, or two of them go to the same place.
    """
    requests = []
    for text in texts:
        name, mark, file = text.partition("=")
        if mark and not file:
            raise UsageError(f"--format {text!r} names no file; write {name}=FILE, or {name} alone")
        requests.append(FormatRequest(choose("--format", name, FORMATS), file or None))
    files = [os.path.realpath(request.file) if request.file else None for request in requests]
    if files.count(None) > 1:
        names = " and ".join(
            each_request.name for each_request in requests if each_request.file is None
        )
        raise UsageError(f"{names} both go to standard output; give one of them a file: =FILE")
    if len(set(files)) < len(files):
        raise UsageError("two formats go to one file; give each a file of its own")
    return requests if None in files else [FormatRequest("table", None), *requests]


def write_all(
    requests: Sequence[FormatRequest],
    audit: Audit,
    output: Output,
    options: Options,
    taken: Sequence[str],
) -> None:
    """Write an audit in every format that was asked for; files first.

    Args:
        requests: the formats.
        audit: what was found.
        output: standard output.
        options: what the reader asked for; nothing is cut in files.
        taken: files that were audited, which no report replaces.

    Raises:
        UsageError: a report would replace what was audited.
        LtocompatError: a file can't be written.
    """
    inputs = {os.path.realpath(path) for path in taken}
    for request in requests:
        if request.file is not None and os.path.realpath(request.file) in inputs:
            raise UsageError(
                f"--format {request.name} would replace {request.file}; name another file"
            )
    from ltocompat.report.verbs.audit import report as told

    report = told(audit)
    for request in sorted(requests, key=lambda request: request.file is None):
        records = audit.judgements()
        if request.file is None:
            write(request.name, report, records, output, options)
            continue
        try:
            with open(
                request.file, "w", encoding="utf-8", errors="backslashreplace", newline="\n"
            ) as file:
                write(request.name, report, records, file, options._replace(width=None))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise LtocompatError(f"{request.file!r} can't be written ({reason})") from error
