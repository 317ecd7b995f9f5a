"""Which findings count: held against a policy and a baseline, one by one."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.commands.policy.baseline import Baseline
from ltocompat.commands.policy.fingerprint import fingerprint
from ltocompat.commands.policy.values import Ignore, Policy
from ltocompat.commands.trial_advice import TRIAL_OPTION, advising_trials
from ltocompat.model.verdict import Finding, Level, Result, Verdict
from ltocompat.rules.emitted import TARGET_LEAVES_OPEN


class Standing(enum.StrEnum):
    """What becomes of a finding."""

    COUNTS = "counts"  # it fails the audit
    UNDECIDED = "undecided"  # nobody knows whether it would; the audit can't pass
    PASSES = "passes"  # its verdict is better than what the policy fails on
    KNOWN = "known"  # it stands in the baseline
    IGNORED = "ignored"  # the policy ignores it for a while


FORGIVEN = (Standing.KNOWN, Standing.IGNORED)


class Assessed(Struct, frozen=True):
    """What becomes of one finding.

    Attributes:
        standing: whether it counts.
        fingerprint: what it is known by.
        ignore: why it is ignored, else None.
    """

    standing: Standing
    fingerprint: str
    ignore: Ignore | None = None


class Audited(Struct, frozen=True):
    """A result, held against a policy.

    Attributes:
        checked: the result as ``check`` gives it.
        result: the same, but for the levels of its findings: what counts is an error, what is
            known or ignored a note whose remedy says so, and ``forgiven``. The verdict stays.
        assessed: what becomes of each finding, in their order.
        failed: something counts.
        undecided: nothing counts, and something that was asked for is not known.
    """

    checked: Result
    result: Result
    assessed: tuple[Assessed, ...]
    failed: bool
    undecided: bool = False

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
    checked = _advised(result, policy)
    assessed = tuple(_assess(checked, finding, policy, baseline) for finding in checked.findings)
    pairs = list(zip(checked.findings, assessed, strict=True))
    findings = tuple(
        _with_standing(
            _with_limits(result, finding, each_assessed, policy), each_assessed, baseline
        )
        for finding, each_assessed in pairs
    )
    standings = {each_assessed.standing for each_assessed in assessed}
    # A verdict that no finding explains can't be forgiven by any.
    bare = not result.without_device_code and all(
        finding.verdict < result.verdict for finding in findings
    )
    failed = Standing.COUNTS in standings or (bare and result.verdict >= policy.fail_on)
    undecided = Standing.UNDECIDED in standings or (bare and result.verdict is Verdict.UNKNOWN)
    shown = replace(checked, findings=findings, forgiven=_forgiven(checked.verdict, findings))
    return Audited(checked, shown, assessed, failed, undecided and not failed)


def _forgiven(verdict: Verdict, findings: Iterable[Finding]) -> str:
    """Why none of the findings counts that make the verdict."""
    reasons = [finding.forgiven for finding in findings if finding.verdict is verdict]
    return reasons[0] if all(reasons) and reasons else ""


def _advised(result: Result, policy: Policy) -> Result:
    """The result with remedies that the audit can follow."""
    findings = tuple(_with_table(finding, result, policy) for finding in result.findings)
    result = replace(result, findings=findings)
    if policy.trial_links and not policy.trial_releases:  # all that could be asked were asked
        settled = (replace(finding, decided_by_trial=False) for finding in findings)
        return replace(result, findings=tuple(settled))
    return advising_trials(result, asking(policy))


def asking(policy: Policy) -> str:
    """How nvJitLinks are asked in an audit: the option, and the key of its policy."""
    key = f", or write trial-link = true under {policy.table} in {policy.source}"
    return f"add {TRIAL_OPTION}{key if policy.given else ''}"


def _with_table(finding: Finding, result: Result, policy: Policy) -> Finding:
    """What a target lacks is added in the policy's own table of that target."""
    if finding.rule != TARGET_LEAVES_OPEN or result.target not in policy.targets:
        return finding
    table = f"[{policy.prefix}targets.{result.target.name}]"
    return replace(finding, remedy=f"{finding.remedy}: {table} in {policy.source}")


def _assess(result: Result, finding: Finding, policy: Policy, baseline: Baseline) -> Assessed:
    target = result.target.name
    digest = fingerprint(result.path, target, finding)
    bad = finding.verdict >= policy.fail_on
    half = finding.rule == TARGET_LEAVES_OPEN and bool(result.not_judged) and policy.given
    unknown = finding.verdict is Verdict.UNKNOWN <= result.verdict
    if not (bad or unknown or half):
        return Assessed(Standing.PASSES, digest)
    for ignore in policy.ignores:
        if ignore.covers(result.path, target, finding):
            return Assessed(Standing.IGNORED, digest, ignore)
    if baseline.knows(digest, finding.verdict):
        return Assessed(Standing.KNOWN, digest)
    return Assessed(Standing.COUNTS if bad else Standing.UNDECIDED, digest)


def _with_limits(result: Result, finding: Finding, assessed: Assessed, policy: Policy) -> Finding:
    """What keeps an ignore by kernel from being about a finding, said where its remedy is."""
    if assessed.standing not in (Standing.COUNTS, Standing.UNDECIDED):
        return finding
    for ignore in policy.ignores:
        concerns = ignore.by_kernel and ignore.concerns(result.path, result.target.name, finding)
        if concerns and not ignore.covers(result.path, result.target.name, finding):
            why = f"{ignore} is not about all of it: {ignore.beyond(finding)}"
            return replace(
                finding, remedy="; ".join(filter(None, (finding.remedy.rstrip("."), why)))
            )
    return finding


def _with_standing(finding: Finding, assessed: Assessed, baseline: Baseline) -> Finding:
    """A finding as every format shows it."""
    if assessed.standing is Standing.COUNTS:
        return replace(finding, level=Level.ERROR)
    if assessed.standing is Standing.UNDECIDED:
        return replace(finding, level=max(finding.level, Level.WARNING, key=_loudness))
    if assessed.standing is Standing.KNOWN:
        remedy = f"known ({baseline.source}); in the end: {finding.remedy}"
        return replace(finding, level=Level.NOTE, remedy=remedy, forgiven=str(assessed.standing))
    if assessed.ignore is not None:
        until = f"ignored until {assessed.ignore.expires} ({assessed.ignore.reason})"
        remedy = f"{until}; by then: {finding.remedy}"
        return replace(finding, level=Level.NOTE, remedy=remedy, forgiven=str(assessed.standing))
    return finding


def _loudness(level: Level) -> int:
    return -list(Level).index(level)
