"""Flaws of a machine, or of a library on it, as findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ltocompat.model.target import Target
from ltocompat.model.verdict import LEVELS, Coverage, Finding, Result, worst
from ltocompat.rules.catalogue import rule
from ltocompat.rules.rule import Flaw


def finding_of_flaw(flaw: Flaw) -> Finding:
    """A flaw as a finding; it holds for no number of modules."""
    source = rule(flaw.rule).source
    level = LEVELS[flaw.verdict]
    return Finding(flaw.rule, flaw.verdict, level, flaw.message, flaw.remedy, flaw.evidence, source)


def with_flaws(result: Result, flaws: Sequence[Flaw]) -> Result:
    """A result with what is wrong around the artifact.

    A flaw knows more than the same rule did about the file alone, and takes its place.
    """
    if not flaws:
        return result
    known = {flaw.rule for flaw in flaws}
    others = [one for one in result.findings if one.rule not in known]
    findings = sorted(
        [*map(finding_of_flaw, flaws), *others],
        key=lambda one: (-one.verdict, -one.module_count, one.rule),
    )
    verdict = worst((result.verdict, *(flaw.verdict for flaw in flaws)))
    return replace(result, verdict=verdict, findings=tuple(findings))


def machine_result(name: str, target: Target, flaws: Iterable[Flaw], looked: str) -> Result:
    """What is wrong with a machine, whatever is to run on it, as a result of its own.

    ``looked`` says how it was looked at.
    """
    findings = tuple(map(finding_of_flaw, flaws))
    verdict = worst(one.verdict for one in findings)
    return Result(name, target, None, None, verdict, Coverage(0), (), findings, (looked,))
