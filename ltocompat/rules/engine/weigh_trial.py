"""Answers of a real linker or driver, weighed against the rules' verdict on a module."""

from __future__ import annotations

from msgspec.structs import replace

from ltocompat.model.trial_answer import TrialOutcome
from ltocompat.model.verdict import LEVELS, Finding, Verdict, worst
from ltocompat.rules.emitted import TRIAL_DISAGREES, TRIAL_REFUSED
from ltocompat.rules.engine.module_verdict import ModuleVerdict
from ltocompat.rules.prose import rule_prose


def with_trial(judged: ModuleVerdict, tried: TrialOutcome) -> ModuleVerdict:
    """A verdict after a trial: it may lower it and settle an unknown."""
    about = (finding.verdict for finding in judged.findings if _about(tried, finding))
    by_rules = worst((Verdict.OK, *about))
    if tried.outcome in ("crashed", "timed out"):
        message = f"{tried.subject} {tried.outcome} on it: {tried.reason}"
        # What took too long says nothing: where the rules decide, they do.
        decided = tried.outcome == "timed out" and by_rules is not Verdict.UNKNOWN
        verdict = Verdict.OK if decided else Verdict.UNKNOWN
        return (
            judged
            if decided and judged.verdict is Verdict.NOT_FOR_GPU
            else _add(judged, tried, TRIAL_REFUSED, verdict, message)
        )
    answered = _taken if tried.worked else _refused
    return answered(judged, tried, by_rules)


def _refused(judged: ModuleVerdict, tried: TrialOutcome, by_rules: Verdict) -> ModuleVerdict:
    """After a refusal, which a module that nothing is picked of, or that fails, calls for."""
    if judged.verdict is Verdict.NOT_FOR_GPU or by_rules is Verdict.FAIL:
        return judged
    message = f"{tried.subject} refuses it: {tried.reason}"
    foreseen = tried.refused_for_age and any(each.is_condition for each in judged.findings)
    if by_rules is Verdict.UNKNOWN or foreseen:
        return _add(_settled(judged, tried), tried, TRIAL_REFUSED, Verdict.FAIL, message)
    message = f"by the rules it is {by_rules}, but {message}"
    return _add(judged, tried, TRIAL_DISAGREES, Verdict.FAIL, message)


def _taken(judged: ModuleVerdict, tried: TrialOutcome, by_rules: Verdict) -> ModuleVerdict:
    """After a success, which never betters a verdict, but settles an unknown one."""
    if judged.verdict is Verdict.NOT_FOR_GPU:
        if judged.not_judged:
            return judged
        message = f"by the rules nothing in it is picked, but {tried.subject} {tried.outcome} it"
        with_note = _add(judged, tried, TRIAL_DISAGREES, Verdict.UNKNOWN, message)
        # It serves as little as before: a trial betters nothing.
        return replace(with_note, verdict=Verdict.NOT_FOR_GPU)
    if by_rules is Verdict.FAIL:
        message = f"by the rules it fails, but {tried.subject} {tried.outcome} it"
        return _add(judged, tried, TRIAL_DISAGREES, Verdict.FAIL, message)
    if tried.proves and any(_answered(tried, finding) for finding in judged.findings):
        message = f"{tried.subject} {tried.outcome} it"
        settled = _settled(judged, tried)
        if _promised(judged, tried):
            return _add(settled, tried, TRIAL_REFUSED, Verdict.OK, message)
        message += ", which is outside of what is documented"
        return _add(settled, tried, TRIAL_REFUSED, Verdict.UNDOCUMENTED, message)
    return judged


def _promised(judged: ModuleVerdict, tried: TrialOutcome) -> bool:
    """Return whether all that was unknown are facts that bytes hide, and a link has shown."""
    return all(
        finding.promised_after_trial for finding in judged.findings if _answered(tried, finding)
    )


def _about(tried: TrialOutcome, finding: Finding) -> bool:
    """Return whether a trial answers a finding: a trial link says nothing of a later load."""
    return tried.by_driver or not finding.about_loading


def _answered(tried: TrialOutcome, finding: Finding) -> bool:
    """Return whether a trial tells what bytes did not; a success by chance would tell nothing."""
    chance = tried.worked and finding.left_to_chance
    open_ = finding.verdict is Verdict.UNKNOWN or finding.is_condition
    return open_ and _about(tried, finding) and not chance


def _settled(judged: ModuleVerdict, tried: TrialOutcome) -> ModuleVerdict:
    """The verdict on a module without what a trial has answered."""
    left = tuple(finding for finding in judged.findings if not _answered(tried, finding))
    return replace(
        judged, findings=left, verdict=worst((Verdict.OK, *(finding.verdict for finding in left)))
    )


def _add(
    judged: ModuleVerdict, tried: TrialOutcome, rule_id: str, of_trial: Verdict, text: str
) -> ModuleVerdict:
    """The verdict with what a trial says, told as the linker's or the driver's."""
    remedy = rule_prose(rule_id).remedy.removesuffix(".")
    if rule_id == TRIAL_REFUSED:
        command = "check --trial-load" if tried.by_driver else "link"
        remedy = f"{remedy}: ltocompat {command}"
    finding = Finding(
        rule_id,
        of_trial,
        LEVELS[of_trial],
        text,
        remedy,
        "a trial load" if tried.by_driver else "a trial link",
        "the driver itself" if tried.by_driver else f"{tried.who.split()[0]} itself",
        subject=tried.cause or tried.outcome,
    )
    verdict = worst((judged.verdict, of_trial))
    return replace(judged, verdict=verdict, findings=(*judged.findings, finding))
