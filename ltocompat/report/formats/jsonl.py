"""Findings as JSON Lines: an object a line, for jq and log collectors."""

from __future__ import annotations

from msgspec.structs import asdict

from ltocompat.report import Writable
from ltocompat.report.finding_rows import finding_rows
from ltocompat.report.findings import SortedRecords
from ltocompat.report.formats.jsonstream import encode

_OURS = ("path", "number", "group")  # what other formats need, and no reader


def write(answer: SortedRecords, stream: Writable) -> None:
    """Write ``{"error": ...}`` for each failure, then an object for each finding."""
    for failure in answer.failures:
        stream.write(encode({"error": {"kind": failure.kind, "message": failure.message}}) + "\n")
    for row in finding_rows(answer.results):
        value = {name: part for name, part in asdict(row).items() if name not in _OURS}
        stream.write(encode(value) + "\n")
