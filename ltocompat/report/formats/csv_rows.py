"""Findings, or what a list is of, as CSV (RFC 4180), a row each, with a head: for spreadsheets."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Any

from ltocompat.report import Failure, Options, Writable
from ltocompat.report.text import escape, safe_text


def write(report: Any, records: Iterable[Any], stream: Writable, options: Options) -> None:  # noqa: ANN401, ARG001 - it has rows; all are called alike
    """Write the head, and a row for each failure and each row of the report."""
    table = csv.writer(stream, lineterminator="\n")
    head = [*report.columns]
    table.writerow(head)
    for row in report.rows(records):
        cells = _of_failure(row) if isinstance(row, Failure) else row
        table.writerow([_cell(cells.get(name)) for name in head])


def _of_failure(failure: Failure) -> dict[str, object]:
    """The cells that say it: those of a finding whose rule is its kind, or the last of a list."""
    text = safe_text(failure.message)
    return {"level": "error", "rule": failure.kind, "message": text, "error": text}


def _cell(value: object) -> str:
    """A value as text; what begins like a formula, which a spreadsheet would calculate, marked."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case list() | tuple():
            value = "; ".join(value)
    text = escape(str(value))
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
