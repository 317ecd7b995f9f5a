"""The option ``--format``: which format an answer is written in, and where it goes."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ltocompat import report
from ltocompat.cli.options import choose
from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.report import Failure, Options, Report, Writable

if TYPE_CHECKING:
    from ltocompat.commands.audit import AuditScope
    from ltocompat.commands.policy.gate import Audited
    from ltocompat.model.requirement import Required

FORMATS = ("table", "json", "markdown", "sarif", "github", "html")
"""The formats; each is a module of ``ltocompat.report``."""

R = TypeVar("R")


class FormatRequest(NamedTuple):
    """A format that was asked for.

    Attributes:
        name: one of ``FORMATS``.
        file: where it goes; None for standard output.
    """

    name: str
    file: str | None


class Writing(NamedTuple):
    """How an answer is written.

    Attributes:
        write: writes the records that it is given to standard output.
        json: standard output is JSON, so that an error before it begins is JSON, too.
    """

    write: Callable[[Iterable[Any], Writable], None]
    json: bool


def in_format(name: str, verb_report: Report[R], options: Options) -> Writing:
    """How a verb's records are written in a format.

    Raises:
        UsageError: there is no such format.
    """
    write: Callable[..., None] = report.writer(choose("--format", name, report.FORMATS))
    return Writing(functools.partial(write, verb_report, options=options), json=name == "json")


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
        names = " and ".join(request.name for request in requests if request.file is None)
        raise UsageError(f"{names} both go to standard output; give one of them a file: =FILE")
    if len(set(files)) < len(files):
        raise UsageError("two formats go to one file; give each a file of its own")
    return requests if None in files else [FormatRequest("table", None), *requests]


def write_audit(
    records: Iterable[AuditScope | Audited | Required | Failure],
    stream: Writable,
    *,
    requests: Sequence[FormatRequest],
    options: Options,
) -> None:
    """Write an audit in every format that was asked for; files first.

    Args:
        records: what the audit is held to, and what was found.
        stream: standard output.
        requests: the formats.
        options: what the reader asked for; nothing is cut in files.

    Raises:
        LtocompatError: a file can't be written.
    """
    from ltocompat.report.audit_result import Audit
    from ltocompat.report.verbs.audit import report as report_of

    audit = Audit.of(records)
    verb_report = report_of(audit)
    for request in sorted(requests, key=lambda request: request.file is None):
        judgements = audit.judgements()
        if request.file is None:
            report.write(request.name, verb_report, judgements, stream, options)
            continue
        in_file = options._replace(width=None)
        try:
            with open(
                request.file, "w", encoding="utf-8", errors="backslashreplace", newline="\n"
            ) as file:
                report.write(request.name, verb_report, judgements, file, in_file)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise LtocompatError(f"{request.file!r} can't be written ({reason})") from error
