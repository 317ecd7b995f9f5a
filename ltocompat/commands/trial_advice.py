"""What a verb that can ask nvJitLinks, and did not, tells its user of findings that they decide."""

from __future__ import annotations

from msgspec.structs import replace

from ltocompat.model.verdict import Finding, Result

TRIAL_OPTION = "--trial-link"
LOAD_OPTION = "--trial-load"
ASK_LINKER = "; or let nvJitLink decide: "
"""What stands behind other things to do."""


def advising_trials(result: Result, how: str = f"add {TRIAL_OPTION}") -> Result:
    """The result with a remedy more, where a trial link would decide a finding.

    Args:
        result: a result for which no trial was made.
        how: how the user has one made.
    """
    if not any(finding.decided_by_trial for finding in result.findings):
        return result
    return replace(result, findings=tuple(_advising(finding, how) for finding in result.findings))


def _advising(finding: Finding, how: str) -> Finding:
    if not finding.decided_by_trial:
        return finding
    ask = f"{ASK_LINKER}{how}"
    remedy = f"{finding.remedy}{ask}" if finding.remedy else ask.removeprefix("; or ")
    return replace(finding, remedy=remedy)
