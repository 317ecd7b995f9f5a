"""Findings: of requirements held against a target, of problems, and those of the engine itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ltocompat.model.projection import project
from ltocompat.model.target import Target
from ltocompat.model.verdict import LEVELS, Coverage, Finding, Level, Result, Verdict, worst
from ltocompat.rules.constraints import least_version
from ltocompat.rules.engine.evaluate import Ruling
from ltocompat.rules.prose import rule_prose
from ltocompat.rules.rule import ABOUT_LOADING, Problem, Requirement, Unbounded

_VARYING = [
    (re.compile(pattern), left)
    for pattern, left in (
        (r" (?:made|linked) by .*", ""),
        (r"^sm_[0-9]+[af]?$", "the GPU"),
        (r"(?: for| on|(?<=the target)) sm_[0-9]+[af]?$", ""),  # extents are told by GPU
        (r" and [0-9,]+ more\b", ""),
        (r"_[0-9a-f]{8}(?=_)", ""),  # the hash of a translation unit
        (r"_[0-9]+_[0-9]+\b", ""),  # __nvJitLinkCreate_12_4
        (r"(?<=[A-Za-z])(?:\.[0-9]+)+", ""),  # libx.so.12
        (r"(?<![A-Za-z0-9_])[0-9]+(?:[.,](?:[0-9]+|x\b))*(?![A-Za-z])", ""),
    )
]

_VERSION = re.compile(r"(?<![A-Za-z0-9_])[0-9]+(?:\.[0-9]+)*")


def subject_of(text: str) -> str:
    """Return a text without what a rebuild changes: ``PTX compute_80`` of ``PTX 8.4 compute_80``.

    It is part of a finding's key: a rebuild changes versions, counts and hashes.
    """
    for pattern, left in _VARYING:
        text = pattern.sub(left, text)
    return " ".join(text.split())


def key_of(requirement: Requirement) -> tuple[str, tuple[str, ...]]:
    """Return the subject of a requirement's findings, and their required versions.

    This is the minimum version that surely meets it, else the version of the code; none if no
    version changes the verdict.
    """
    asked, least = list[str](), least_version([requirement.constraint])
    if not isinstance(least, Unbounded):
        asked = [f"{requirement.component} {least}"]
    elif requirement.constraint.weighs_values:
        asked = [f"version {number}" for number in _VERSION.findall(requirement.subject)[-1:]]
    return subject_of(requirement.subject), tuple(asked)


def finding_of(ruling: Ruling, key: tuple[str, tuple[str, ...]]) -> Finding:
    """The finding behind a ruling that has a message; the fold counts its modules.

    Args:
        ruling: the ruling.
        key: the key of its requirement, from ``key_of``.
    """
    requirement, (subject, asked) = ruling.requirement, key
    constraint, verdict = requirement.constraint, ruling.verdict or Verdict.OK
    open_ = verdict in (Verdict.UNKNOWN, Verdict.OK)
    return Finding(
        verdict,
        ruling.message,
        requirement.text("remedy"),
        requirement.text("evidence"),
        rule=requirement.rule,
        level=Level.WARNING if constraint.warns else LEVELS[verdict],
        source=rule_prose(requirement.rule).source,
        about_loading=requirement.component in ABOUT_LOADING,
        decided_by_trial=open_ and constraint.trial_decides,
        promised_after_trial=open_ and constraint.promised,
        nondeterministic=constraint.nondeterministic,
        headline=ruling.headline,
        subject=subject,
        asked=asked,
    )


def finding_of_problem(problem: Problem) -> Finding:
    """Return a problem as a finding."""
    return project(
        Finding,
        problem,
        level=problem.level or LEVELS[problem.verdict],
        source=rule_prose(problem.rule).source,
        subject=problem.subject or subject_of(problem.message),
    )


def finding_by_engine(rule_id: str, verdict: Verdict, message: str, **known: object) -> Finding:
    """Return a finding of the engine itself; its rule's prose has the other fields."""
    problem = Problem(verdict, message, subject="modules").by(rule_id)
    return replace(finding_of_problem(problem), **known)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings, the worst first."""
    return tuple(sorted(findings, key=lambda each: (-each.verdict, -each.module_count, each.rule)))


def with_problems(result: Result, problems: Sequence[Problem]) -> Result:
    """Return a result with the problems around the artifact.

    A problem has more facts than the same rule's finding about the file, and replaces it.
    """
    if not problems:
        return result
    known = {problem.rule for problem in problems}
    others = [finding for finding in result.findings if finding.rule not in known]
    findings = in_order([*map(finding_of_problem, problems), *others])
    verdict = worst((result.verdict, *(problem.verdict for problem in problems)))
    of_whole = any(problem.verdict is verdict for problem in problems)
    extent = replace(result.extent, modules=0) if of_whole else result.extent
    return replace(result, verdict=verdict, findings=findings, extent=extent)


def machine_result(name: str, target: Target, problems: Iterable[Problem], looked: str) -> Result:
    """Return the result of a machine's own problems, independent of artifacts.

    ``looked`` describes how it was examined.
    """
    findings = tuple(map(finding_of_problem, problems))
    verdict = worst((Verdict.OK, *(finding.verdict for finding in findings)))
    return Result(name, target, None, None, verdict, Coverage(0), (), findings, (looked,))
