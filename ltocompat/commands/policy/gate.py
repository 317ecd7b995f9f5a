"""Which findings count: held against a policy and a baseline, one by one."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.commands.advice import TRIAL_OPTION, advising_trials
from ltocompat.commands.policy.baseline import Baseline, Extents
from ltocompat.commands.policy.extent import ANY_GPU, FindingExtent, extent_of, gpu_key, no_worse
from ltocompat.commands.policy.fingerprint import FindingKey, key_of
from ltocompat.commands.policy.values import Policy, PolicyException
from ltocompat.model.generic import grouped
from ltocompat.model.verdict import Finding, Level, Result, Verdict
from ltocompat.model.words import truncate_list
from ltocompat.rules.builtin_rules import SPARSE_COVERAGE, TARGET_LEAVES_OPEN

_MOST_PARTS = 2


class Standing(enum.StrEnum):
    """The effect of a finding on the audit.

    Attributes:
        COUNTS: the finding makes the audit fail.
        UNDECIDED: a fact about the finding is missing, so the audit can't pass.
        PASSES: the verdict of the finding is better than the verdicts that make the audit fail.
        KNOWN: the baseline lists the finding.
        IGNORED: an exception with an end date covers the finding.
        ALLOWED: an exception without an end date covers the finding.
    """

    COUNTS = "counts"
    UNDECIDED = "undecided"
    PASSES = "passes"
    KNOWN = "known"
    IGNORED = "ignored"
    ALLOWED = "allowed"


HELD_UP = (Standing.COUNTS, Standing.UNDECIDED)
FORGIVEN = (Standing.KNOWN, Standing.IGNORED, Standing.ALLOWED)


class Assessed(Struct, frozen=True):
    """The assessment of one finding.

    Attributes:
        standing: the effect of the finding on the audit.
        fingerprint: the key of the finding.
        exception: the exception that covers the finding, else None.
        limits: one clause for each exception that does not cover the finding; the clause says why
            not.
    """

    standing: Standing
    fingerprint: str
    exception: PolicyException | None = None
    limits: tuple[str, ...] = ()


class Audited(Struct, frozen=True):
    """A result, compared with a policy.

    Attributes:
        checked: the result as ``check`` gives it.
        result: the same result, with the same verdict. The policy sets the level of each finding: a
            finding that makes the audit fail is an error. If an exception or the baseline covers
            the finding, the finding is a note, and its field ``forgiven`` gives the reason.
        assessed: the assessment of each finding, in the same order.
        failed: True if a finding makes the audit fail (``Standing.COUNTS``).
        undecided: True if no finding makes the audit fail, but the audit can't pass because a fact
            is missing.
    """

    checked: Result
    result: Result
    assessed: tuple[Assessed, ...]
    failed: bool
    undecided: bool = False

    @property
    def counted(self) -> Verdict:
        """The verdict of the audit on this result: ``fail`` if a finding makes the audit fail."""
        if self.failed:
            return Verdict.FAIL
        if self.undecided:
            return Verdict.UNKNOWN
        return Verdict.NOT_FOR_GPU if self.result.holds_nothing else Verdict.OK

    def not_excepted(self) -> Result:
        """Return what a baseline stores: the result without findings that an exception covers."""
        pairs = zip(self.checked.findings, self.assessed, strict=True)
        left = tuple(finding for finding, assessed in pairs if assessed.exception is None)
        return replace(self.checked, findings=left)

    def having(self, *standings: Standing) -> tuple[tuple[Finding, Assessed], ...]:
        """Return the findings that have one of these effects on the audit."""
        pairs = zip(self.result.findings, self.assessed, strict=True)
        return tuple(
            (finding, assessed) for finding, assessed in pairs if assessed.standing in standings
        )


_Pair = tuple[Result, tuple[Assessed, ...]]  # a result, and the assessment of each finding


def audited(results: Sequence[Result], policy: Policy, baseline: Baseline) -> tuple[Audited, ...]:
    """Compare the results of one artifact with a policy and a baseline."""
    checked = (_advised(result, policy) for result in results)
    pairs = [(result, _assessed(result, policy, baseline)) for result in checked]
    growth = _growth(pairs, baseline)
    return tuple(_audited(pair, policy, baseline, growth) for pair in pairs)


def _audited(pair: _Pair, policy: Policy, baseline: Baseline, growth: Mapping[str, str]) -> Audited:
    checked, assessed = pair
    findings = tuple(
        _with_standing(_with_limits(finding, each, growth), each, baseline)
        for finding, each in zip(checked.findings, assessed, strict=True)
    )
    standings = {each.standing for each in assessed}
    # A verdict that no finding explains can't be forgiven by any.
    bare = not checked.without_device_code and all(
        finding.verdict < checked.verdict for finding in findings
    )
    failed = Standing.COUNTS in standings or (bare and checked.verdict >= policy.fail_on)
    undecided = Standing.UNDECIDED in standings or (bare and checked.verdict is Verdict.UNKNOWN)
    # Why none of the findings counts that make the verdict.
    reasons = [each.forgiven for each in findings if each.verdict is checked.verdict]
    forgiven = reasons[0] if all(reasons) and reasons else ""
    shown = replace(checked, findings=findings, forgiven=forgiven)
    return Audited(checked, shown, assessed, failed, undecided and not failed)


def _assessed(result: Result, policy: Policy, baseline: Baseline) -> tuple[Assessed, ...]:
    """The assessment of each finding; those of one key stand or fall together."""
    keys = [key_of(result, finding) for finding in result.findings]
    found = [Assessed(Standing.PASSES, key.digest) for key in keys]
    held = [n for n, finding in enumerate(result.findings) if _is_held(result, finding, policy)]
    left: dict[FindingKey, list[int]] = {}
    narrowest = (_narrowest(policy.exceptions, result, result.findings[n]) for n in held)
    excepted = grouped(((keys[n], some), n) for n, some in zip(held, narrowest, strict=True))
    for (key, exceptions), numbers in excepted.items():
        extent = extent_of(result.findings[n] for n in numbers)
        forgiven = no_worse(extent, tuple(p for each in exceptions for p in each.extent))
        alone = (each for each in exceptions if no_worse(extent, each.extent))
        exception = next(alone, exceptions[0]) if forgiven else None
        forgiving = Standing.IGNORED if exception and exception.expires else Standing.ALLOWED
        for n in numbers:
            found[n] = replace(
                found[n],
                standing=found[n].standing if exception is None else forgiving,
                exception=exception,
                limits=() if forgiven else _limits(policy, result, result.findings[n]),
            )
        if not forgiven:
            left.setdefault(key, []).extend(numbers)
    for key, numbers in left.items():
        findings = [result.findings[n] for n in numbers]
        known = baseline.knows(key.digest, gpu_key(result.gpu), extent_of(findings))
        for n in numbers:
            bad = _counts(result, result.findings[n], policy)
            counts = Standing.COUNTS if bad else Standing.UNDECIDED
            found[n] = replace(found[n], standing=Standing.KNOWN if known else counts)
    return tuple(found)


def _is_held(result: Result, finding: Finding, policy: Policy) -> bool:
    """Return whether it counts where nothing forgives it."""
    half = finding.rule == TARGET_LEAVES_OPEN and bool(result.not_judged) and policy.given
    unknown = finding.verdict is Verdict.UNKNOWN <= result.verdict
    return half or unknown or _counts(result, finding, policy)


def _counts(result: Result, finding: Finding, policy: Policy) -> bool:
    """Return whether it is as bad as the policy fails on, or tells of more lost kernels."""
    lost = finding.rule == SPARSE_COVERAGE and policy.coverage is not None
    share = 100 * result.coverage.kernels < (policy.coverage or 0) * result.coverage.best_kernels
    # It names no module where it is about GPUs without a row, for which a library has no kernel.
    no_row = not finding.kernels and not finding.module_count
    return finding.counts_from(policy.fail_on) or (lost and (share or no_row))


def _narrowest(
    exceptions: Iterable[PolicyException], result: Result, finding: Finding
) -> tuple[PolicyException, ...]:
    """The exceptions that decide about a finding: of those about it the narrowest."""
    about = [
        each
        for each in exceptions
        if each.concerns(result, finding) and not each.beyond_kernels(finding)
    ]
    narrowest = max((each.narrowness for each in about), default=None)
    return tuple(each for each in about if each.narrowness == narrowest)


def _limits(policy: Policy, result: Result, finding: Finding) -> tuple[str, ...]:
    """Reasons why exceptions don't forgive a finding that they are about, a clause each."""
    narrowest = _narrowest(policy.exceptions, result, finding)
    concern = [each for each in policy.exceptions if each.concerns(result, finding)]
    kernels = ((each, each.beyond_kernels(finding)) for each in concern)
    return (
        *(f"{each} covers only a part of it: {beyond}" for each, beyond in kernels if beyond),
        *(f"{each} accepts {_listed(each.extent)} at most" for each in narrowest),
    )


def _growth(pairs: Iterable[_Pair], baseline: Baseline) -> dict[str, str]:
    """Where findings that a baseline has are known, and where they are new, by fingerprint."""
    now: dict[str, dict[str, list[Finding]]] = {}
    for result, assessed in pairs:
        for finding, each in zip(result.findings, assessed, strict=True):
            if each.standing in HELD_UP and baseline.extents(each.fingerprint):
                gpus = now.setdefault(each.fingerprint, {})
                gpus.setdefault(gpu_key(result.gpu), []).append(finding)
    return {digest: _grown(baseline.extents(digest), gpus) for digest, gpus in now.items()}


def _grown(known: Extents, now: Mapping[str, Sequence[Finding]]) -> str:
    """``known on b200; new on a100, h100``."""
    same = ", ".join(gpu for gpu in known if gpu not in now)
    new = ", ".join(gpu for gpu in now if gpu not in known)
    more = grouped(
        (f"{_listed(extent_of(findings))}, after {_listed(known[gpu])}", gpu)
        for gpu, findings in now.items()
        if gpu in known
    )
    clauses = [f"known on {same}" if same else "", f"new on {new}" if new else ""]
    for change, gpus in more.items():
        where = "" if gpus == [ANY_GPU] else f" on {', '.join(gpus)}"
        clauses.append(f"more{where}: {change}")
    return "; ".join(filter(None, clauses))


def _listed(extent: FindingExtent) -> str:
    return truncate_list([str(part) for part in reversed(extent)], _MOST_PARTS)


def _with_limits(finding: Finding, assessed: Assessed, growth: Mapping[str, str]) -> Finding:
    """A finding that counts, with what it goes beyond of what is known or excepted."""
    if assessed.standing not in HELD_UP:
        return finding
    grown = growth.get(assessed.fingerprint, "")
    headline = finding.headline or re.split("; |: ", finding.message, maxsplit=1)[0]
    remedies = (finding.remedy.rstrip(".") if assessed.limits else finding.remedy, *assessed.limits)
    return replace(
        finding,
        message=f"{finding.message} ({grown})" if grown else finding.message,
        headline=f"{headline} ({grown})" if grown else finding.headline,
        remedy="; ".join(filter(None, remedies)),
    )


def _advised(result: Result, policy: Policy) -> Result:
    """The result with remedies that the audit can follow."""
    findings = tuple(_with_table(finding, result, policy) for finding in result.findings)
    result = replace(result, findings=findings)
    linkers = result.target.nvjitlink.values if result.target.nvjitlink else ()
    asked = not policy.trial_releases or {*linkers} <= {*policy.trial_releases}
    if policy.trial_links and asked:
        settled = (replace(finding, decided_by_trial=False) for finding in findings)
        return replace(result, findings=tuple(settled))
    return advising_trials(result, asking(policy))


def asking(policy: Policy) -> str:
    """Return how an audit can try nvJitLinks: the option, and the key of its policy."""
    key = f", or write trial-link = true under {policy.table} in {policy.source}"
    return f"add {TRIAL_OPTION}{key if policy.source else ''}"


def _with_table(finding: Finding, result: Result, policy: Policy) -> Finding:
    """Name the policy's own table of a target that lacks something."""
    in_file = bool(policy.source) and "targets" not in policy.options
    if finding.rule != TARGET_LEAVES_OPEN or result.target not in policy.targets or not in_file:
        return finding
    table = f"[{policy.prefix}targets.{result.target.name}]"
    remedy = finding.remedy.partition(", for example")[0]  # which is no TOML
    return replace(finding, remedy=f"{remedy}: {table} in {policy.source}")


def _with_standing(finding: Finding, assessed: Assessed, baseline: Baseline) -> Finding:
    """A finding as every format shows it."""
    if assessed.standing is Standing.COUNTS:
        return replace(finding, level=Level.ERROR)
    if assessed.standing is Standing.UNDECIDED:
        loud = finding.level is Level.ERROR
        return replace(finding, level=Level.ERROR if loud else Level.WARNING)
    if assessed.standing not in FORGIVEN:
        return finding
    why = assessed.exception.why if assessed.exception else f"known ({baseline.source})"
    end = "by then" if assessed.standing is Standing.IGNORED else "in the end"
    remedy = f"{why}; {end}: {finding.remedy}"
    return replace(finding, level=Level.NOTE, remedy=remedy, forgiven=str(assessed.standing))
