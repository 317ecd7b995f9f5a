"""Findings as a Code Quality report of GitLab: a JSON array, an object a finding.

GitLab shows them in merge requests. It tells them apart by their fingerprints, which must not
repeat, and wants a line of each; a package has none, so that it is 1.
"""

from __future__ import annotations

import hashlib
import os

from ltocompat.report import Writable
from ltocompat.report.finding_rows import FindingRow, finding_rows
from ltocompat.report.formats.jsonstream import Array, encode
from ltocompat.report.sorted_records import SortedRecords
from ltocompat.report.text import escape, safe_text

_SEVERITIES = {"error": "critical", "warning": "minor", "note": "info"}


def write(answer: SortedRecords, stream: Writable) -> None:
    """Write the array; a failure is an issue, too."""
    rows = Array()
    stream.write("[")
    for number, failure in enumerate(answer.failures):
        key = f"{failure.kind}:{failure.message}:{number}"
        issue = _issue(safe_text(failure.message), failure.kind, key, "error", ".")
        stream.write(rows.element(encode(issue)))
    for row in finding_rows(answer.results):
        # Relative to the repository, without ``./``, as GitLab wants it.
        path = escape(row.path.replace(os.sep, "/").removeprefix("./"))
        issue = _issue(_text(row), row.rule, f"{row.fingerprint}:{row.number}", row.level, path)
        stream.write(rows.element(encode(issue)))
    stream.write("\n]\n")


def _text(row: FindingRow) -> str:
    gpus = f" ({', '.join(row.gpus)})" if row.gpus else ""
    remedy = f"; remedy: {row.remedy}" if row.remedy else ""
    word = row.level if row.verdict == "ok" else row.verdict  # a finding has more to say than ok
    message = row.message.removesuffix(".")
    return f"{word} on {row.target}{gpus} at {row.place}: {message}{remedy}"


def _issue(text: str, rule: str, key: str, level: str, path: str) -> dict[str, object]:
    return {
        "description": text,
        "check_name": rule,
        "fingerprint": hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:32],
        "severity": _SEVERITIES[level],
        "location": {"path": path, "lines": {"begin": 1}},
    }
