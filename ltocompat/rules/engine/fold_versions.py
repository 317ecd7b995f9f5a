"""The fold of verdicts on exact targets into one where parts can have several versions.

Each combination of versions is a target of its own, on which the whole artifact is judged. Versions
that all have to work are on the outside, versions of which one is there on the inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from msgspec.structs import replace

from ltocompat.model.generic import grouped
from ltocompat.model.target import ANY_DRIVER, Gpu, Target, VersionSet
from ltocompat.model.verdict import (
    LEVELS,
    THE_TARGET_HAS,
    Finding,
    Result,
    Route,
    Verdict,
    one_of,
    worst,
)
from ltocompat.rules.engine.findings import in_order

# The keys of a target that can be sets, and what sentences call them.
_PARTS = {
    "driver": "driver",
    "compat": "cuda-compat",
    "nvjitlink": "nvJitLink",
    "nvlink": "nvlink",
    "nvrtc": "NVRTC",
}

Row = tuple[Gpu | None, Route | None]
Rows = Mapping[Row, Result]
# A rule, and the evidence by which it speaks.
_Subject = tuple[str, str]


def over_versions(target: Target, judge: Callable[[Target], Iterable[Result]]) -> Iterator[Result]:
    """Yield the verdicts on a target, from the verdicts on each combination of its versions.

    Args:
        target: the target.
        judge: returns the rows of an exact target: by GPU, then by route.
    """
    exact = combinations(target)
    if exact == [[target]]:
        for result in judge(target):  # with the linker that the artifact brings itself
            yield result if result.target is target else replace(result, target=target)
        return
    rows = []
    for alternatives in exact:
        found = zip(alternatives, map(list, map(judge, alternatives)), strict=True)
        tables = [(each, {(r.gpu, r.route): r for r in results}) for each, results in found]
        rows.append(_one_of(target, tables))
    for row in _all_rows(rows, target):
        # The worst over versions that all have to work, with what is found on any.
        results = [each[row] for each in rows if row in each]
        decides = max(results, key=lambda result: result.verdict)
        whole = _with(decides, results, decides.verdict, _united(results))
        yield replace(whole, target=target)


def combinations(target: Target) -> list[list[Target]]:
    """Return exact targets: for each combination that has to work, all possible alternatives."""
    sets = {key: known for key in _PARTS if (known := getattr(target, key)) is not None}
    every = {key: known for key, known in sets.items() if known.every}
    some = {key: known for key, known in sets.items() if not known.every}
    return [
        [_exact(target, {**outer, **inner}) for inner in _choices(some)]
        for outer in _choices(every)
    ]


def _choices(sets: Mapping[str, VersionSet[Any]]) -> Iterator[dict[str, VersionSet[Any]]]:
    for values in product(*(known.each for known in sets.values())):
        yield dict(zip(sets, values, strict=True))


def _exact(target: Target, parts: Mapping[str, VersionSet[Any]]) -> Target:
    same = all(getattr(target, key) is part for key, part in parts.items())
    return target if same else replace(target, **parts)


def _all_rows(tables: Iterable[Rows], target: Target) -> list[Row]:
    """Every row; GPUs that the target doesn't name in the order of their architectures."""
    found = list(dict.fromkeys(row for table in tables for row in table))
    if not target.gpus:
        found.sort(key=lambda row: -1 if row[0] is None else row[0].arch.number)
    return found


def _one_of(target: Target, found: Sequence[tuple[Target, Rows]]) -> Rows:
    """The fold over versions of which one is there, row by row."""
    if len(found) == 1:
        return found[0][1]
    all_fail = all(
        worst(result.verdict for result in rows.values()) is Verdict.FAIL for _, rows in found
    )
    return {
        row: _one_of_row(target, [(on, rows.get(row)) for on, rows in found], all_fail=all_fail)
        for row in _all_rows([rows for _, rows in found], target)
    }


_OnVersions = Sequence[tuple[Target, Result | None]]


def _one_of_row(target: Target, found: _OnVersions, *, all_fail: bool) -> Result:
    """One row: a version on which it is missing can't have that GPU, or has code for another.

    Such a version leaves open that a row fails, unless it fails itself, on other rows.
    """
    results = [result for _, result in found if result is not None]
    decides = max(results, key=lambda result: result.verdict)
    verdict = one_of(result.verdict for result in results)
    if verdict is Verdict.FAIL and len(results) < len(found) and not all_fail:
        verdict = Verdict.UNKNOWN
    findings = _united(results)
    last = found[-1][1] if verdict is Verdict.FAIL else None
    always = last and any(
        all(_verdict_on(result, _subject(finding)) is verdict for _, result in found)
        for finding in findings
    )
    # Where one thing fails on all versions, a thing that fails on some is open; without such a
    # thing, each version fails by a thing of its own, and those of the last version are shown.
    if always or verdict is not decides.verdict or len({each.verdict for each in results}) > 1:
        findings = [_undecided(finding, target, found) for finding in findings]
    elif last:  # all versions fail, and what fails on others alone is not why the last one does
        findings = [
            each
            for each in findings
            if each.verdict is not verdict or _verdict_on(last, _subject(each)) is verdict
        ]
    return _with(decides, results, verdict, findings)


def _with(
    decides: Result, results: Sequence[Result], verdict: Verdict, findings: Iterable[Finding]
) -> Result:
    halves = tuple(dict.fromkeys(half for result in results for half in result.not_judged))
    return replace(decides, verdict=verdict, findings=in_order(findings), not_judged=halves)


def _subject(finding: Finding) -> _Subject:
    return finding.rule, finding.evidence


def _united(results: Sequence[Result]) -> list[Finding]:
    """Unite the findings on all versions: of each subject those where it is worst."""
    decides = max(results, key=lambda result: result.verdict)
    subjects = dict.fromkeys(_subject(each) for result in results for each in result.findings)
    worst_of = {
        subject: max(results, key=partial(_verdict_on, subject=subject)) for subject in subjects
    }
    # PTX that some driver refuses is not said to be compiled at load by another one.
    return [
        finding
        for result in results
        for finding in result.findings
        if worst_of[_subject(finding)] is result
        and (finding.verdict is not Verdict.JIT or result is decides)
    ]


def _verdict_on(result: Result | None, subject: _Subject) -> Verdict:
    """The verdict on a subject on one version."""
    findings = () if result is None else result.findings
    return worst(finding.verdict for finding in findings if _subject(finding) == subject)


def _undecided(finding: Finding, target: Target, found: _OnVersions) -> Finding:
    """A finding on which versions of one part differ: the digits that are missing are named."""
    subject = _subject(finding)
    verdicts = [(exact, _verdict_on(result, subject)) for exact, result in found]
    if finding.verdict is Verdict.OK or len({verdict for _, verdict in verdicts}) == 1:
        return finding
    parts = [part for part in _PARTS if _depends_verdict_on(part, verdicts)]
    # Beside it, other modules may fare worse by the same rule.
    bad = next(exact for exact, result in found if result and finding in result.findings)
    can_be = " and ".join(f"{_PARTS[part]} {_range(getattr(target, part))}" for part in parts)
    names = " and ".join(_PARTS[part] for part in parts)
    there = " with ".join(str(getattr(bad, part).value) for part in parts)
    outcome = "fail" if finding.verdict is Verdict.FAIL else f"be {finding.verdict}"
    demand = (finding.headline or finding.message).partition(f"; {THE_TARGET_HAS} ")[0]
    headline = f"{demand}; the target's {can_be}"
    return replace(
        finding,
        verdict=Verdict.UNKNOWN,
        level=LEVELS[Verdict.UNKNOWN],
        message=f"{headline}, and {there} would {outcome}: give the full version",
        remedy=f"give the target's exact {names}" + f", or {finding.remedy}" * bool(finding.remedy),
        headline=headline,
    )


def _depends_verdict_on(part: str, verdicts: Sequence[tuple[Target, Verdict]]) -> bool:
    """Return whether exact targets that differ in this part alone differ in the verdict."""
    seen = grouped((replace(exact, **{part: None}), verdict) for exact, verdict in verdicts)
    return any(len(set(each)) > 1 for each in seen.values())


def _range(known: VersionSet[Any]) -> str:
    first, *_, last = known.values
    between = "or" if len(known.values) == 2 else "to"
    told = known.source if known.text == ANY_DRIVER else known.text
    span = f"can be {first} {between} {last}"
    return f"{span} ({told})" if " " in told else f"{told} {span}"
