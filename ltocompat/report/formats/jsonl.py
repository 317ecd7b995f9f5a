"""Findings, or what a list is of, as JSON Lines: an object a line, for jq and log collectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ltocompat.report import Failure, Options, Writable
from ltocompat.report.formats.jsonstream import encode


def write(report: Any, records: Iterable[Any], stream: Writable, options: Options) -> None:  # noqa: ANN401, ARG001 - it has rows; all are called alike
    """Write ``{"error": ...}`` for each failure, and an object for each row of the report."""
    for row in report.rows(records):
        failure = isinstance(row, Failure)
        value = {"error": {"kind": row.kind, "message": row.message}} if failure else row
        stream.write(encode(value) + "\n")
