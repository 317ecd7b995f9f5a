"""A baseline: what was found on the day it was written, and does not count from then on.

It is a JSON file to commit: ``ltocompat/baseline/v1``, one finding a line, sorted, so that a change
of it can be read in a review.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from ltocompat.commands.policy.fingerprint import identity
from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.model.verdict import Finding, Result, Verdict
from ltocompat.targets.text_file import read_text

SCHEMA = "ltocompat/baseline/v1"


class Baseline(Struct, frozen=True):
    """What is known.

    Attributes:
        source: the file; empty for none.
        findings: the verdict of each finding, by its fingerprint.
    """

    source: str = ""
    findings: Mapping[str, Verdict] = field(default_factory=dict)

    def knows(self, fingerprint: str, verdict: Verdict) -> bool:
        """Whether a finding was there, and no better than now."""
        then = self.findings.get(fingerprint)
        return then is not None and verdict <= then


def read_baseline(path: str) -> Baseline:
    """The baseline in a file.

    Raises:
        UsageError: it can't be read, or is no baseline.
    """
    try:
        value = json.loads(read_text(path))
    except (ValueError, RecursionError):
        value = None
    listed = value.get("findings") if isinstance(value, dict) else None
    if not isinstance(listed, list) or value.get("schema") != SCHEMA:
        raise UsageError(
            f"{path} is no baseline; write one with: ltocompat audit --write-baseline {path}"
        )
    words = {str(each_verdict): each_verdict for each_verdict in Verdict}
    found: dict[str, Verdict] = {}
    for number, table in enumerate(listed):
        digest = table.get("fingerprint") if isinstance(table, dict) else None
        verdict = words.get(str(table.get("verdict"))) if isinstance(table, dict) else None
        if not isinstance(digest, str) or verdict is None:
            raise UsageError(
                f"{path}: findings[{number}] has no fingerprint or no verdict; write it anew with: "
                f"ltocompat audit --write-baseline {path}"
            )
        found[digest] = max(verdict, found.get(digest, Verdict.OK))
    return Baseline(path, found)


def write_baseline(path: str, results: Iterable[Result]) -> int:
    """Write every finding that is worse than ``ok``; how many that are.

    Raises:
        UsageError: there is a file that is no baseline.
        LtocompatError: the file can't be written.
    """
    if os.path.exists(path) and os.path.getsize(path):
        read_baseline(path)  # anything else is not replaced
    rows: dict[str, dict[str, str]] = {}
    for result in results:
        for finding in result.findings:
            _note(rows, result, finding)
    lines = [json.dumps(row) for _, row in sorted(_keyed(rows.values()))]
    body = "".join(f"\n  {line}{',' if n < len(lines) else ''}" for n, line in enumerate(lines, 1))
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(f'{{"schema": "{SCHEMA}", "findings": [{body}\n]}}\n')
    except OSError as error:
        raise LtocompatError(f"{path!r} can't be written ({error.strerror})") from error
    return len(rows)


def _note(rows: dict[str, dict[str, str]], result: Result, finding: Finding) -> None:
    if finding.verdict is Verdict.OK:
        return
    same = identity(result.path, result.target.name, finding)
    before = rows.get(same.digest)
    if before is None or Verdict[before["verdict"].upper()] < finding.verdict:
        rows[same.digest] = {
            "rule": same.rule,
            "distribution": same.distribution,
            "member": same.member,
            "kind": same.kind,
            "arch": same.arch,
            "target": same.target,
            "verdict": str(finding.verdict),
            "message": finding.message,
            "fingerprint": same.digest,
        }


def _keyed(rows: Iterable[dict[str, str]]) -> Iterable[tuple[tuple[str, ...], dict[str, str]]]:
    for row in rows:
        yield (row["distribution"], row["member"], row["rule"], row["fingerprint"]), row
