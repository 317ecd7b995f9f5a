"""Findings one by one, for formats that have a row, a line or an object for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated

from msgspec import Struct

from ltocompat.commands.policy.fingerprint import key_of
from ltocompat.model.location import Location
from ltocompat.model.projection import From, project
from ltocompat.model.verdict import MOST_KERNELS, Finding, Result
from ltocompat.report.grouped_findings import GroupedFinding, grouped_findings
from ltocompat.report.text import alternatives, escape, safe_text
from ltocompat.rules.prose import title_of


def _first_kernels(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(escape, islice(names, MOST_KERNELS)))


class FindingRow(Struct, frozen=True):
    """A finding about one file of an artifact and one deploy target; all texts are safe to print.

    Attributes:
        artifact: the checked file or package.
        path: the same, not escaped.
        place: the place of the finding in it, ready to paste.
        rule: ID of its rule.
        title: the title of the rule; empty for a rule of a policy.
        level: ``error``, ``warning`` or ``note``.
        verdict: its verdict on the artifact.
        target: name of the deploy target.
        gpus: GPUs there, each once.
        routes: ``load``, ``link``; empty if modules go one way only.
        modules: number of affected modules; 0 for the artifact or target as a whole.
        judged: number of checked modules of the artifact, the largest of all GPUs.
        message: the problem.
        remedy: the fix.
        evidence: the bytes that prove the finding.
        kernels: the first kernels of its modules, mangled; empty if they were not read.
        kernel_count: number of kernels in ``kernel_modules``.
        kernel_modules: number of affected modules whose kernels were read.
        fingerprint: the same in every build.
        number: its number among the findings with this fingerprint, from 1.
        group: the finding itself, whose texts are not safe to print.
    """

    artifact: str
    path: str
    place: str
    rule: Annotated[str, From("finding.rule", escape)]
    title: Annotated[str, From("finding.rule", title_of)]
    level: Annotated[str, From("finding.level")]
    verdict: Annotated[str, From("finding.verdict")]
    target: str
    gpus: tuple[str, ...]
    routes: tuple[str, ...]
    modules: Annotated[int, From("module_count")]
    judged: int
    message: Annotated[str, From("finding.message", safe_text)]
    remedy: str
    evidence: Annotated[str, From("finding.evidence", safe_text)]
    kernels: Annotated[tuple[str, ...], From(through=_first_kernels)]
    kernel_count: Annotated[int, From("kernels", len)]
    kernel_modules: int
    fingerprint: str
    number: int
    group: GroupedFinding


def finding_rows(results: Iterable[Result]) -> Iterator[FindingRow]:
    """Yield the findings of results, the most severe first."""
    seen: Counter[str] = Counter()
    for group in grouped_findings(results, _key):
        digest = str(group.apart).partition("\0")[0]
        seen[digest] += 1
        yield _row(group, digest, seen[digest])


def _key(result: Result, finding: Finding) -> str:
    """Return the key of a finding's row: the key of baselines, its place and its target."""
    members = finding.example.members if finding.example else ()
    place = "\0".join((result.path, *members, result.target.name))
    return f"{key_of(result, finding).digest}\0{place}"


def _row(group: GroupedFinding, digest: str, number: int) -> FindingRow:
    finding = group.finding
    (path,) = group.modules
    return project(
        FindingRow,
        group,
        artifact=escape(path),
        path=path,
        place=escape((finding.example or Location(path)).shown),
        target=escape(next(iter(group.cells)).target),
        gpus=tuple(dict.fromkeys(escape(cell.gpu) for cell in group.cells if cell.gpu)),
        routes=tuple(dict.fromkeys(cell.route for cell in group.cells if cell.route)),
        remedy=safe_text(alternatives(group.fixes)),
        fingerprint=digest,
        number=number,
        group=group,
    )
