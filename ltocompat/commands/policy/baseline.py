"""A baseline: what was found on the day it was written, and does not count from then on.

It is a JSON file to commit: ``ltocompat/baseline/v2``, one finding a line, sorted, so that a change
of it can be read in a review. Each has its key and, GPU by GPU, its extent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import asdict

from ltocompat.commands.policy.extent import ExtentPart, FindingExtent, extent_of, gpu_key, no_worse
from ltocompat.commands.policy.fingerprint import FindingKey, key_of
from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.model.target import ANY_TARGET
from ltocompat.model.verdict import Finding, Result, Verdict
from ltocompat.rules.emitted import TARGET_LEAVES_OPEN
from ltocompat.targets.text_file import read_text

SCHEMA = "ltocompat/baseline/v2"
_OLDER = "ltocompat/baseline/v1"

Extents = Mapping[str, FindingExtent]
"""Extents by GPU."""


OlderEntry = tuple[str, str, str, str, str]
"""A finding as baselines had it that named no GPU and no extent: rule, distribution, member, name
of the deploy target, message."""


class Baseline(Struct, frozen=True):
    """What is known.

    Attributes:
        source: the file; empty for none.
        findings: the extents of each finding by its fingerprint: those of each artifact that it
            was found in.
        older: the verdicts of findings in a file of the older form.
    """

    source: str = ""
    findings: Mapping[str, tuple[Extents, ...]] = field(default_factory=dict)
    older: Mapping[OlderEntry, Verdict] = field(default_factory=dict)

    def knows(self, fingerprint: str, gpu: str, extent: FindingExtent) -> bool:
        """Whether a finding was there, on this GPU and in one artifact, with no less extent."""
        return any(
            no_worse(extent, extents.get(gpu, ())) for extents in self.findings.get(fingerprint, ())
        )

    def knew_in_older_form(
        self, result: Result, key: FindingKey, findings: Sequence[Finding]
    ) -> bool:
        """Whether a file of the older form says all that there is to say of findings of a key.

        It tells no GPU, no keys of a target, no number of modules, and no version but those of the
        message.
        """
        if result.target != ANY_TARGET or not self.older:
            return False
        return not any(finding.module_count for finding in findings) and all(
            finding.verdict <= self.older.get(_as_older(result, key, finding), Verdict.OK)
            for finding in findings
        )

    def extents(self, fingerprint: str) -> Extents:
        """What is known of a finding, GPU by GPU, in all artifacts."""
        known: dict[str, FindingExtent] = {}
        for extents in self.findings.get(fingerprint, ()):
            for gpu, extent in extents.items():
                known[gpu] = max(known.get(gpu, ()), extent)
        return known


def _as_older(result: Result, key: FindingKey, finding: Finding) -> OlderEntry:
    return key.rule, key.distribution, key.member, result.target.name, finding.message


_Word = Annotated[str, Meta(pattern=f"^({'|'.join(map(str, Verdict))})$")]


class _PartRow(Struct):
    verdict: _Word
    modules: Annotated[int, Meta(ge=0)]
    asked: str


class _Row(Struct):
    """A line of a baseline: the key, its digest, and the extent."""

    distribution: str
    member: str
    rule: str
    subject: str
    route: str
    target: str
    extent: dict[str, list[_PartRow]]
    message: str
    fingerprint: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]


class _OlderRow(Struct):
    rule: str
    distribution: str
    member: str
    target: str
    verdict: _Word
    message: str


def read_baseline(path: str) -> Baseline:
    """The baseline in a file.

    Raises:
        UsageError: it can't be read, or is no baseline.
    """
    again = f"ltocompat audit --write-baseline {path}"
    try:
        value = json.loads(read_text(path))
    except (ValueError, RecursionError):
        value = None
    schema = value.get("schema") if isinstance(value, dict) else None
    if schema not in (SCHEMA, _OLDER):
        raise UsageError(f"{path} is no baseline; write one with: {again}")
    listed = value.get("findings")
    try:
        if schema == _OLDER:
            return Baseline(path, older=_older(msgspec.convert(listed, list[_OlderRow])))
        return Baseline(path, _newer(msgspec.convert(listed, list[_Row])))
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: in findings, {error}; write it anew with: {again}") from error


def _newer(rows: Iterable[_Row]) -> dict[str, tuple[Extents, ...]]:
    found: dict[str, tuple[Extents, ...]] = {}
    for row in rows:
        extents = {gpu: tuple(map(_part, parts)) for gpu, parts in row.extent.items()}
        found[row.fingerprint] = (*found.get(row.fingerprint, ()), extents)
    return found


def _part(row: _PartRow) -> ExtentPart:
    return ExtentPart(Verdict[row.verdict.upper()], row.modules, row.asked)


def _older(rows: Iterable[_OlderRow]) -> dict[OlderEntry, Verdict]:
    found: dict[OlderEntry, Verdict] = {}
    for row in rows:
        entry = (row.rule, row.distribution, row.member, row.target, row.message)
        found[entry] = max(Verdict[row.verdict.upper()], found.get(entry, Verdict.OK))
    return found


def write_baseline(path: str, results: Iterable[Result]) -> int:
    """Write every finding that a policy may count; how many that are.

    Raises:
        UsageError: there is a file that is no baseline.
        LtocompatError: the file can't be written.
    """
    if os.path.exists(path) and os.path.getsize(path):
        read_baseline(path)  # anything else is not replaced
    rows: dict[tuple[str, str, FindingKey], _Row] = {}
    for result in results:
        for key, findings in by_key(result, filter(_may_count, result.findings)).items():
            row = rows.setdefault((result.path, result.target.name, key), _row(key, findings[0]))
            row.extent[gpu_key(result.gpu)] = [
                _PartRow(str(part.verdict), part.modules or 0, part.asked)
                for part in extent_of(findings)
            ]
    lines = sorted({json.dumps(msgspec.to_builtins(row)) for row in rows.values()})
    body = "".join(f"\n  {line}{',' if n < len(lines) else ''}" for n, line in enumerate(lines, 1))
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(f'{{"schema": "{SCHEMA}", "findings": [{body}\n]}}\n')
    except OSError as error:
        raise LtocompatError(f"{path!r} can't be written ({error.strerror})") from error
    return len(lines)


def _may_count(finding: Finding) -> bool:
    """Whether some policy holds it against an artifact."""
    return finding.verdict is not Verdict.OK or finding.rule == TARGET_LEAVES_OPEN


def _row(key: FindingKey, first: Finding) -> _Row:
    return _Row(**asdict(key), extent={}, message=first.message, fingerprint=key.digest)


def by_key(result: Result, findings: Iterable[Finding]) -> dict[FindingKey, list[Finding]]:
    """Findings of a result by their keys."""
    found: dict[FindingKey, list[Finding]] = {}
    for finding in findings:
        found.setdefault(key_of(result, finding), []).append(finding)
    return found
