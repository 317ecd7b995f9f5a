"""Findings as a Code Quality report of GitLab: a JSON array, an object a finding.

GitLab shows them in merge requests. It tells them apart by their fingerprints, which must not
repeat, and wants a line of each; a package has none, so that it is 1.
"""

from __future__ import annotations

import hashlib
import os

from ltocompat.report import Failure, Writable
from ltocompat.report.finding_rows import FindingRow, finding_rows
from ltocompat.report.findings import SortedRecords
from ltocompat.report.formats.jsonstream import Array, encode
from ltocompat.report.text import escape, safe_text, sentence

_SEVERITIES = {"error": "critical", "warning": "minor", "note": "info"}


def write(answer: SortedRecords, stream: Writable) -> None:
    """Write the array; a failure is an issue, too."""
    rows = Array()
    stream.write("[")
    for number, failure in enumerate(answer.failures):
        stream.write(rows.element(encode(_failure(failure, number))))
    for row in finding_rows(answer.results):
        stream.write(rows.element(encode(_issue(row))))
    stream.write("\n]\n")


def _issue(row: FindingRow) -> dict[str, object]:
    gpus = f" ({', '.join(row.gpus)})" if row.gpus else ""
    remedy = f" Remedy: {sentence(row.remedy)}" if row.remedy else ""
    word = row.level if row.verdict == "ok" else row.verdict  # a finding has more to say than ok
    opening = f"{word} on {row.target}{gpus}: {sentence(row.message)}"
    text = f"{opening}{remedy} At {row.place}."
    # Relative to the repository, without ``./``, as GitLab wants it.
    path = escape(row.path.replace(os.sep, "/").removeprefix("./"))
    return {
        "description": text,
        "check_name": row.rule,
        "fingerprint": _digest(f"{row.fingerprint}:{row.number}"),
        "severity": _SEVERITIES[row.level],
        "location": {"path": path, "lines": {"begin": 1}},
    }


def _failure(failure: Failure, number: int) -> dict[str, object]:
    return {
        "description": safe_text(failure.message),
        "check_name": failure.kind,
        "fingerprint": _digest(f"{failure.kind}:{failure.message}:{number}"),
        "severity": "critical",
        "location": {"path": ".", "lines": {"begin": 1}},
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]
