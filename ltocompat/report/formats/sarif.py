"""Findings as SARIF 2.1.0, for code scanning and for viewers.

Sections of the standard are those of OASIS SARIF 2.1.0 with errata 01. One result is one finding
on one file of an artifact and one deploy target; GPUs and routes that share it are in its
properties.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from msgspec import Struct, field

from ltocompat.model.location import Location
from ltocompat.model.projection import project
from ltocompat.model.records_v1 import verdict as v1
from ltocompat.model.target import ANY_TARGET, PolicyLines
from ltocompat.model.verdict import LEVELS, MOST_KERNELS, Finding, Prose, Result
from ltocompat.model.version import VERSION, rule_url
from ltocompat.model.words import count
from ltocompat.report import Failure, Writable
from ltocompat.report.finding_rows import FindingRow, finding_rows
from ltocompat.report.formats.jsonstream import Array, encode
from ltocompat.report.grouped_findings import GroupedFinding
from ltocompat.report.sorted_records import SortedRecords
from ltocompat.report.text import alternatives, escape, safe_text, sentence
from ltocompat.rules.prose import rules

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
# The key of our fingerprint; its number changes if the fingerprint is computed differently.
FINGERPRINT = "ltocompat/v2"

_GITHUB = "primaryLocationLineHash"  # the one key that GitHub matches alerts by
_LONGEST = 1024  # characters of a description that GitHub takes

Value = dict[str, Any]


def write(answer: SortedRecords, stream: Writable) -> None:
    """Write one SARIF log with one run, one result per line; a failure becomes a notification."""
    found = [*finding_rows(answer.results)]
    rules = _rules(found)
    indices = {rule["id"]: index for index, rule in enumerate(rules)}
    files = _Files()
    stream.write(f'{{"$schema": {encode(SCHEMA)}, "version": "2.1.0", "runs": [{{\n')
    tool = {"name": "ltocompat", "version": VERSION, "semanticVersion": VERSION, "rules": rules}
    stream.write(f'"tool": {{"driver": {encode(tool)}}},\n')
    # What keeps this run apart from others of the same commit: its targets (3.17.3).
    names = "+".join(target.name for target in answer.targets) or ANY_TARGET.name
    automation = {"id": f"ltocompat/{safe_text(names)}/"}
    stream.write(f'"automationDetails": {encode(automation)},\n"results": [')
    rows = Array()
    for row in found:
        value = _result(row, indices[row.group.finding.rule], files)
        if answer.policy is not None:
            value |= _in_policy(value, answer.policy, files)
        stream.write(rows.element(encode(value)))
    stream.write(f'\n],\n"artifacts": {encode(files.values)},\n')
    stream.write(f'"invocations": [{encode(_invocation(answer.failures))}],\n')
    properties: Value = {"targets": [project(v1.Target, target) for target in answer.targets]}
    properties["verdicts"] = [_verdict(result) for result in answer.results]
    stream.write(f'"properties": {encode(properties)}\n')
    stream.write("}]}\n")


def _verdict(result: Result) -> Value:
    """A verdict, and what it says nothing of; a result of SARIF is a finding."""
    return {
        "artifact": result.path,
        "target": result.target.name,
        "gpu": None if result.gpu is None else result.gpu.name,
        "route": None if result.route is None else str(result.route),
        "verdict": str(result.verdict),
        "not_judged": list(result.not_judged),
    }


def _result(row: FindingRow, rule_index: int, files: _Files) -> Value:
    group, finding = row.group, row.group.finding
    target = next(iter(group.cells)).target
    place = finding.example or Location(row.path)
    keys = {FINGERPRINT: row.fingerprint, _GITHUB: f"{row.fingerprint}:{row.number}"}
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": str(finding.level),
        "message": {"text": _message(group, target)},
        "locations": [_location(place, files)],
        "partialFingerprints": keys,
        "properties": {
            "verdict": str(finding.verdict),
            "artifact": row.path,
            "place": str(place),
            "module_count": finding.module_count,
            "kernels": [*group.kernels][:MOST_KERNELS],
            "kernel_count": len(group.kernels),
            "kernel_modules": group.kernel_modules,
            "target": target,
            "gpus": sorted({cell.gpu for cell in group.cells if cell.gpu}),
            "routes": sorted({cell.route for cell in group.cells if cell.route}),
            "evidence": finding.evidence,
            "remedy": finding.remedy,
            "source": finding.source,
        },
    }


def _in_policy(value: Value, policy: PolicyLines, files: _Files) -> Value:
    """The line of the policy that asks, which is in the repository; the artifact is related."""
    physical = {
        "artifactLocation": files.location(Location(policy.path)),
        "region": {"startLine": policy.line(value["properties"]["target"])},
    }
    (found,) = value["locations"]
    related = {"id": 1, **found, "message": {"text": safe_text(value["properties"]["place"])}}
    return {"locations": [{"physicalLocation": physical}], "relatedLocations": [related]}


def _message(group: GroupedFinding, target: str) -> str:
    """Plain text in full sentences, without what would be a link or an argument (3.11)."""
    finding = group.finding
    gpus = ", ".join(dict.fromkeys(cell.gpu for cell in group.cells if cell.gpu))
    named = target if target == ANY_TARGET.name else f"target {target}"
    where = named + (f", GPU {gpus}" if gpus else "")
    modules = f", {count(group.module_count, 'module')}" if group.module_count else ""
    remedy = f" Remedy: {sentence(alternatives(group.fixes))}" if group.fixes else ""
    text = safe_text(f"{finding.message} ({where}{modules}).{remedy}")
    return re.sub(r"\{(\d+)\}", r"{{\1}}", text.replace("](", "] ("))


def _location(place: Location, files: _Files) -> Value:
    physical: Value = {"artifactLocation": files.location(place)}
    if place.offset is not None:
        physical["region"] = {"byteOffset": place.offset}  # of a binary: it has no lines (3.30.1)
    return {
        "physicalLocation": physical,
        "logicalLocations": [{"fullyQualifiedName": str(place), "kind": "module"}],
    }


class _Files(Struct):
    """The artifacts of a run; a member names the file around it as its parent (3.24.3).

    Attributes:
        values: an artifact object each.
    """

    values: list[Value] = field(default_factory=list)
    _indices: dict[tuple[str, ...], int] = field(default_factory=dict)

    def location(self, place: Location) -> Value:
        """Return the innermost file of a place; a member is relative to its container."""
        index = self._add((place.path, *place.members))
        return {**self.values[index]["location"], "index": index}

    def _add(self, names: tuple[str, ...]) -> int:
        if names not in self._indices:
            *around, name = names
            # A member stands at the root of the file around it (3.24.2).
            uri = "/" + _quoted(name.lstrip("/")) if around else file_uri(name)
            value: Value = {"location": {"uri": uri}}
            if around:
                value["parentIndex"] = self._add(tuple(around))
            self._indices[names] = len(self.values)
            self.values.append(value)
        return self._indices[names]


def file_uri(path: str) -> str:
    """Return a user's file name as a URI reference, relative if the path is (RFC 3986, 8089)."""
    slashed = path.replace(os.sep, "/")
    if slashed.startswith("//"):  # \\\\server\\share, or what POSIX leaves open
        return "file:" + _quoted(slashed)
    if slashed.startswith("/"):
        return "file://" + _quoted(slashed)
    if re.match(r"[A-Za-z]:/", slashed):
        return f"file:///{slashed[:2]}" + _quoted(slashed[2:])
    return _quoted(slashed.removeprefix("./")) or "."


def _quoted(path: str) -> str:
    return quote(path, safe="/+,=@~", errors="surrogateescape")


def _rules(found: Iterable[FindingRow]) -> list[Value]:
    """The rules of a run: all of the catalogue, so that runs differ in their results alone.

    Args:
        found: findings, which may name rules outside of the catalogue.
    """
    known = {prose.id for prose in rules()}
    findings = (row.group.finding for row in found)
    others = {finding.rule: finding for finding in findings if finding.rule not in known}
    return [*map(_descriptor, rules()), *map(_foreign, others.values())]


def _descriptor(prose: Prose) -> Value:
    sections = {
        "When": prose.condition,
        "Evidence": prose.evidence,
        "Remedy": prose.remedy,
        "Source": prose.source,
    }
    plain = [prose.statement, *(f"{word}: {text}" for word, text in sections.items() if text)]
    marked = [prose.statement, *(f"**{word}:** {text}" for word, text in sections.items() if text)]
    if prose.messages:
        plain.append("Messages: " + "; ".join(prose.messages))
        marked.append("**Messages:**\n" + "\n".join(f"- `{text}`" for text in prose.messages))
    words = re.findall(r"[A-Za-z0-9]+", prose.title)
    return {
        "id": prose.id,
        "name": "".join(word[0].upper() + word[1:] for word in words),
        "helpUri": rule_url(prose.id),
        "shortDescription": {"text": prose.title},
        "fullDescription": {"text": prose.statement[:_LONGEST]},
        "help": {"text": "\n".join(plain), "markdown": "\n\n".join(marked)},
        "defaultConfiguration": {"level": str(LEVELS[prose.verdicts[0]])},
        "properties": {"tags": [prose.id.split("-")[0]], "verdict": prose.verdict},
    }


def _foreign(finding: Finding) -> Value:
    """A rule outside of the catalogue, such as one of a policy: as much as its finding says."""
    text = safe_text(finding.remedy or finding.message)
    return {
        "id": finding.rule,
        "shortDescription": {"text": escape(finding.rule)},
        "fullDescription": {"text": text[:_LONGEST]},
        "help": {"text": text},
        "defaultConfiguration": {"level": str(finding.level)},
    }


def _invocation(failures: Iterable[Failure]) -> Value:
    notifications = [
        {
            "level": "error",
            "message": {"text": safe_text(failure.message)},
            "descriptor": {"id": failure.kind},
        }
        for failure in failures
    ]
    return {"executionSuccessful": not notifications, "toolExecutionNotifications": notifications}
