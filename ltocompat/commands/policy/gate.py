"""Which findings count: held against a policy and a baseline, one by one."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from ltocompat.commands.policy.baseline import Baseline
from ltocompat.commands.policy.fingerprint import fingerprint
from ltocompat.commands.policy.values import Ignore, Policy
from ltocompat.model.verdict import Finding, Level, Result


class Standing(enum.StrEnum):
    """What becomes of a finding."""

    COUNTS = "counts"  # it fails the audit
    PASSES = "passes"  # its verdict is better than what the policy fails on
    KNOWN = "known"  # it stands in the baseline
    IGNORED = "ignored"  # the policy ignores it for a while


@dataclass(frozen=True, slots=True)
class Assessed:
    """What becomes of one finding.

    Attributes:
        standing: whether it counts.
        fingerprint: what it is known by.
        ignore: why it is ignored, else None.
    """

    standing: Standing
    fingerprint: str
    ignore: Ignore | None = None


@dataclass(frozen=True, slots=True)
class Audited:
    """A result, held against a policy.

    Attributes:
        checked: the result as ``check`` gives it.
        result: the same, but for the levels of its findings: what counts is an error, what is
            known or ignored a note whose remedy says so. The verdict stays what it is.
        assessed: what becomes of each finding, in their order.
        failed: something counts.
    """

    checked: Result
    result: Result
    assessed: tuple[Assessed, ...]
    failed: bool

    def not_ignored(self) -> Result:
        """What a baseline takes up: an ignore has an end, and hands nothing over to it."""
        pairs = zip(self.checked.findings, self.assessed, strict=True)
        left = tuple(
            finding for finding, assessed in pairs if assessed.standing is not Standing.IGNORED
        )
        return replace(self.checked, findings=left)

    def having(self, *standings: Standing) -> tuple[tuple[Finding, Assessed], ...]:
        """The findings of these standings."""
        pairs = zip(self.result.findings, self.assessed, strict=True)
        return tuple(
            (finding, assessed) for finding, assessed in pairs if assessed.standing in standings
        )


def audited(result: Result, policy: Policy, baseline: Baseline) -> Audited:
    """Hold a result against a policy and a baseline."""
    assessed = tuple(_assess(result, finding, policy, baseline) for finding in result.findings)
    pairs = list(zip(result.findings, assessed, strict=True))
    findings = tuple(
        _with_standing(each_finding, each_assessed, baseline)
        for each_finding, each_assessed in pairs
    )
    nothing = not result.coverage.modules and not findings
    # A verdict that no finding explains can't be forgiven by any.
    unexplained = all(finding.verdict < policy.fail_on for finding in findings) and not nothing
    failed = any(each.standing is Standing.COUNTS for each in assessed) or (
        result.verdict >= policy.fail_on and unexplained
    )
    return Audited(result, replace(result, findings=findings), assessed, failed)


def _assess(result: Result, finding: Finding, policy: Policy, baseline: Baseline) -> Assessed:
    target = result.target.name
    digest = fingerprint(result.path, target, finding)
    if finding.verdict < policy.fail_on:
        return Assessed(Standing.PASSES, digest)
    for ignore in policy.ignores:
        if ignore.covers(result.path, target, finding):
            return Assessed(Standing.IGNORED, digest, ignore)
    if baseline.knows(digest, finding.verdict):
        return Assessed(Standing.KNOWN, digest)
    return Assessed(Standing.COUNTS, digest)


def _with_standing(finding: Finding, assessed: Assessed, baseline: Baseline) -> Finding:
    """A finding as every format shows it."""
    if assessed.standing is Standing.COUNTS:
        return replace(finding, level=Level.ERROR)
    if assessed.standing is Standing.KNOWN:
        remedy = f"known ({baseline.source}); in the end: {finding.remedy}"
        return replace(finding, level=Level.NOTE, remedy=remedy)
    if assessed.ignore is not None:
        until = f"ignored until {assessed.ignore.expires} ({assessed.ignore.reason})"
        return replace(finding, level=Level.NOTE, remedy=f"{until}; by then: {finding.remedy}")
    return finding
