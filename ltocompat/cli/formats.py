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


class Asked(NamedTuple):
    """A format that was asked for.

    Attributes:
        name: one of ``FORMATS``.
        file: where it goes; None for standard output.
    """

    name: str
    file: str | None


def read_formats(texts: Sequence[str]) -> list[Asked]:
    """What was asked for; a table on standard output, where nothing else goes there.

    Raises:
        UsageError: a format is not known, or two of them go to the same place.
    """
    asked = []
    for text in texts:
        name, mark, file = text.partition("=")
        if mark and not file:
            raise UsageError(f"--format {text!r} names no file; write {name}=FILE, or {name} alone")
        asked.append(Asked(choose("--format", name, FORMATS), file or None))
    files = [os.path.realpath(one.file) if one.file else None for one in asked]
    if files.count(None) > 1:
        names = " and ".join(one.name for one in asked if one.file is None)
        raise UsageError(f"{names} both go to standard output; give one of them a file: =FILE")
    if len(set(files)) < len(files):
        raise UsageError("two formats go to one file; give each a file of its own")
    return asked if None in files else [Asked("table", None), *asked]


def write_all(
    asked: Sequence[Asked], audit: Audit, output: Output, options: Options, taken: Sequence[str]
) -> None:
    """Write an audit in every format that was asked for; files first.

    Args:
        asked: the formats.
        audit: what was found.
        output: standard output.
        options: what the reader asked for; nothing is cut in files.
        taken: files that were audited, which no report replaces.

    Raises:
        UsageError: a report would replace what was audited.
        LtocompatError: a file can't be written.
    """
    inputs = {os.path.realpath(path) for path in taken}
    for one in asked:
        if one.file is not None and os.path.realpath(one.file) in inputs:
            raise UsageError(f"--format {one.name} would replace {one.file}; name another file")
    from ltocompat.report.verbs.audit import report as told

    report = told(audit)
    for one in sorted(asked, key=lambda one: one.file is None):
        records = audit.judgements()
        if one.file is None:
            write(one.name, report, records, output, options)
            continue
        try:
            with open(
                one.file, "w", encoding="utf-8", errors="backslashreplace", newline="\n"
            ) as file:
                write(one.name, report, records, file, options._replace(width=None))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise LtocompatError(f"{one.file!r} can't be written ({reason})") from error
