"""A finding a line, as compilers write them: ``x.whl: fail PTX-01 on prod (h100): ...``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ltocompat.model.verdict import Level
from ltocompat.model.words import count
from ltocompat.report import FindingReport, Options, Writable
from ltocompat.report.finding_rows import FindingRow, finding_rows
from ltocompat.report.grouped_findings import LEVELS, headline_of
from ltocompat.report.text import safe_text


def write(
    report: FindingReport[Any], records: Iterable[Any], stream: Writable, options: Options
) -> None:
    """Write a line for each failure and each finding, and a line with their number.

    Notes are only counted, as in a table, unless the reader asks for them.
    """
    answer = report.sorted_records(records)
    for failure in answer.failures:
        stream.write(f"error {failure.kind}: {safe_text(failure.message)}\n")
    rows = list(finding_rows(answer.results))
    for row in rows:
        if row.level != Level.NOTE or options.notes:
            stream.write(f"{_line(row)}\n")
    levels = Counter(row.level for row in rows)
    hint = " (--notes)" if levels[Level.NOTE] and options.notes is False else ""
    stream.write(", ".join(count(levels[level], level) for level in LEVELS) + f"{hint}\n")


def _line(row: FindingRow) -> str:
    gpus = f" ({', '.join(row.gpus)})" if row.gpus else ""
    headline = safe_text(headline_of(row.group.finding))
    verdict = "" if row.verdict == "ok" else f"{row.verdict} "  # a finding has more to say than ok
    on = f"{row.rule} on {row.target}{gpus}"
    of = f" ({row.modules:,} of {row.judged:,} modules)" if 0 < row.modules < row.judged else ""
    return f"{row.place}: {row.level}: {verdict}{on}: {headline}{of}"
