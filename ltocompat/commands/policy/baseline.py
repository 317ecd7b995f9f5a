"""A baseline: what was found on the day it was written, and does not count from then on.

It is a JSON file to commit: ``ltocompat/baseline/v2``, one finding a line, sorted, so that a change
of it can be read in a review. Each has its key and, GPU by GPU, its extent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import asdict

from ltocompat.commands.policy.extent import ExtentPart, FindingExtent, extent_of, gpu_key, no_worse
from ltocompat.commands.policy.fingerprint import FindingKey, key_of
from ltocompat.files.output import replaced, writing
from ltocompat.model.errors import UsageError
from ltocompat.model.generic import grouped
from ltocompat.model.projection import project
from ltocompat.model.verdict import Finding, Result, Verdict
from ltocompat.model.words import json_object
from ltocompat.rules.builtin_rules import TARGET_LEAVES_OPEN
from ltocompat.targets.text_file import read_text

SCHEMA = "ltocompat/baseline/v2"

# Extents by GPU.
Extents = Mapping[str, FindingExtent]


class Baseline(Struct, frozen=True):
    """The known findings.

    Attributes:
        source: the file; empty if there is none.
        findings: for each finding, its fingerprint and the extent of the finding in each artifact.
            The extent gives the verdict, the number of modules and the required versions.
    """

    source: str = ""
    findings: Mapping[str, tuple[Extents, ...]] = field(default_factory=dict)

    def knows(self, fingerprint: str, gpu: str, extent: FindingExtent) -> bool:
        """Return whether an artifact has the finding on this GPU, to at least the same extent."""
        known = self.findings.get(fingerprint, ())
        return any(no_worse(extent, extents.get(gpu, ())) for extents in known)

    def extents(self, fingerprint: str) -> Extents:
        """Return, for each GPU, the largest extent that a finding has in any artifact."""
        known: dict[str, FindingExtent] = {}
        for extents in self.findings.get(fingerprint, ()):
            for gpu, extent in extents.items():
                known[gpu] = max(known.get(gpu, ()), extent)
        return known


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


def read_baseline(path: str) -> Baseline:
    """Return the baseline in a file.

    Raises:
        UsageError: it can't be read, or is not a baseline.
    """
    value = _document(path)
    again = f"write it again with: ltocompat audit --write-baseline {path}"
    if value["schema"] != SCHEMA:
        raise UsageError(f"{path} has another format, {value['schema']}; {again}")
    found: dict[str, tuple[Extents, ...]] = {}
    try:
        for row in msgspec.convert(value.get("findings"), list[_Row]):
            extents = {gpu: tuple(map(_part, parts)) for gpu, parts in row.extent.items()}
            found[row.fingerprint] = (*found.get(row.fingerprint, ()), extents)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: in findings, {error}; {again}") from error
    return Baseline(path, found)


def _document(path: str) -> dict[str, Any]:
    """A baseline as it was written, in this format or another.

    Raises:
        UsageError: it can't be read, or is not a baseline.
    """
    value = json_object(read_text(path))
    if str(value.get("schema")).startswith("ltocompat/baseline/"):
        return value
    write = "ltocompat audit --write-baseline FILE"
    raise UsageError(f"{path} is not a baseline; write one with: {write}")


def _part(row: _PartRow) -> ExtentPart:
    return ExtentPart(Verdict[row.verdict.upper()], row.modules, row.asked)


def write_baseline(path: str, results: Iterable[Result]) -> int:
    """Write every finding that a policy may count, and return their number.

    Raises:
        UsageError: the file exists and is not a baseline.
        LtocompatError: the file can't be written.
    """
    if os.path.exists(path) and os.path.getsize(path):
        _document(path)  # anything else is not replaced
    rows: dict[tuple[str, str, FindingKey], _Row] = {}
    for result in results:
        for key, findings in by_key(result, filter(_may_count, result.findings)).items():
            row = rows.setdefault((result.path, result.target.name, key), _row(key, findings[0]))
            row.extent[gpu_key(result.gpu)] = [project(_PartRow, p) for p in extent_of(findings)]
    lines = sorted({json.dumps(msgspec.to_builtins(row)) for row in rows.values()})
    body = "".join(f"\n  {line}{',' if n < len(lines) else ''}" for n, line in enumerate(lines, 1))
    with replaced(path) as file, writing(path):
        file.write(f'{{"schema": "{SCHEMA}", "findings": [{body}\n]}}\n')
    return len(lines)


def _may_count(finding: Finding) -> bool:
    """Return whether some policy holds it against an artifact."""
    return finding.counts_from(Verdict.JIT) or finding.rule == TARGET_LEAVES_OPEN


def _row(key: FindingKey, first: Finding) -> _Row:
    return _Row(**asdict(key), extent={}, message=first.message, fingerprint=key.digest)


def by_key(result: Result, findings: Iterable[Finding]) -> dict[FindingKey, list[Finding]]:
    """Return the findings of a result by their keys."""
    return grouped((key_of(result, finding), finding) for finding in findings)
