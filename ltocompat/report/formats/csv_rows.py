"""Findings as CSV (RFC 4180), a row each, with a head: for spreadsheets."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from ltocompat.report import Writable
from ltocompat.report.finding_rows import finding_rows
from ltocompat.report.findings import SortedRecords, title_of
from ltocompat.report.text import escape, safe_text

HEAD = (
    "artifact",
    "place",
    "level",
    "verdict",
    "rule",
    "title",
    "target",
    "gpus",
    "routes",
    "modules",
    "message",
    "remedy",
    "evidence",
    "fingerprint",
    "judged",
    "kernels",
    "kernel_count",
)
_FORMULA = ("=", "+", "-", "@")


def write(answer: SortedRecords, stream: Writable) -> None:
    """Write the head, a row for each failure, whose rule is its kind, and one for each finding."""
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(HEAD)
    for failure in answer.failures:
        cells = {"level": "error", "rule": failure.kind, "message": safe_text(failure.message)}
        table.writerow(_unlike_formulas([cells.get(name, "") for name in HEAD]))
    for row in finding_rows(answer.results):
        cells = {name: str(getattr(row, name, "")) for name in HEAD}
        cells |= {"title": title_of(row.rule)}
        cells |= {name: " ".join(getattr(row, name)) for name in ("gpus", "routes", "kernels")}
        table.writerow(_unlike_formulas([cells[name] for name in HEAD]))


def _unlike_formulas(cells: Sequence[str]) -> list[str]:
    """Mark what begins like a formula, which a spreadsheet would calculate."""
    return [f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in map(escape, cells)]
