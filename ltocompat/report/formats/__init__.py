"""How documents and findings are written: one module a format."""

from __future__ import annotations

from typing import Any

from ltocompat.report import FINDING_FORMATS, FORMATS, Report
from ltocompat.report.grouped_findings import FindingReport


def formats_of(report: Report[Any]) -> tuple[str, ...]:
    """The formats that a verb's answer can be written in."""
    return FINDING_FORMATS if isinstance(report, FindingReport) else FORMATS
