"""Add to verdicts that stand who could decide more, and trials that ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.failure import Note
from ltocompat.model.verdict import Finding, Result, Verdict
from ltocompat.model.words import count, truncate_list
from ltocompat.rules.prose import prose_of

TRIAL_OPTION = "--trial-link"
LOAD_OPTION = "--trial-load"
TIME_OPTION = "--trial-seconds"
MORE_SECONDS = 600
_MOST_TOLD = 4  # linkers and architectures
# The words that follow another remedy.
ASK_LINKER = ", or let the linker decide: "


def told_trials(summary: ArtifactSummary) -> Iterator[Note]:
    """Yield notes on the answers to trials of an artifact, and on trials that ended early."""
    tried = [(group.count, *pair) for group in summary.groups for pair in group.trials.items()]
    answered = Counter[tuple[str, str]]()
    for modules, (_, arch), trial in tried:
        if trial.worked or trial.outcome == "refused":
            answered[f"{trial.subject} {trial.outcome}", arch] += modules
    if answered:
        told = [f"{how} {count(n, 'module')} for {arch}" for (how, arch), n in answered.items()]
        yield Note(f"{summary.path}: tried: {truncate_list(told, _MOST_TOLD)}")
    tried += [(1, *pair) for pair in summary.link_trials.items()]
    ended = [(modules, each) for modules, _, each in tried if each.outcome == "timed out"]
    if ended:
        number = count(sum(modules for modules, _ in ended), "trial")
        yield Note(
            f"{summary.path}: {number} of {ended[0][1].who} ended early: {ended[0][1].reason}; "
            f"the rules decide without these trials, or the verdict is unknown (for more time: "
            f"{TIME_OPTION} {MORE_SECONDS})"
        )


def advising_trials(result: Result, how: str = f"add {TRIAL_OPTION}") -> Result:
    """Return the result with an additional remedy for each finding that a trial link would settle.

    Args:
        result: a result for which no trial was made.
        how: the words that tell how to make a trial.
    """
    found = (_advising(finding, how, result.verdict) for finding in result.findings)
    return replace(result, findings=tuple(found))


def advising_users(result: Result) -> Result:
    """Return the result with fixes for users of an environment or image, who can't rebuild code.

    Such a fix begins with what they can choose, and ends with what their packages' maintainers do.
    """
    return replace(result, findings=tuple(map(_for_users, result.findings)))


def _for_users(finding: Finding) -> Finding:
    prose = prose_of(finding.rule)
    choice = "" if prose is None else prose.finding_choice
    remedy = f"{choice}. Maintainers of the package: {finding.remedy}"
    return replace(finding, remedy=remedy) if choice else finding


def _advising(finding: Finding, how: str, verdict: Verdict) -> Finding:
    if not finding.decided_by_trial or verdict is Verdict.FAIL:
        return finding  # no linker betters a failure
    ask = f"{ASK_LINKER}{how}"
    remedy = f"{finding.remedy}{ask}" if finding.remedy else ask.removeprefix(", or ")
    return replace(finding, remedy=remedy)
