"""The verdict on one module on one target and GPU: first the pick, then rules, then trials."""

from __future__ import annotations

import functools

from msgspec.structs import replace

from ltocompat.facts import nvjitlink_minors
from ltocompat.model.arch import Release
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.target import Gpu
from ltocompat.model.trial_answer import TrialOutcome, Trials, link_key, load_key, narrowed
from ltocompat.model.verdict import Finding, Verdict, worst
from ltocompat.rules.builtin_rules import TRIAL_DISAGREES, TRIAL_REFUSED
from ltocompat.rules.engine.engine import Case
from ltocompat.rules.engine.evaluate import Ruling
from ltocompat.rules.engine.findings import finding_by_engine
from ltocompat.rules.engine.module_verdict import ModuleVerdict, Reasoning
from ltocompat.rules.engine.picked_code import PickedCode, without_concatenated
from ltocompat.rules.engine.routes import own_target
from ltocompat.rules.link_selection import pick_for_linker
from ltocompat.rules.linker_traits import traits_of
from ltocompat.rules.prose import rule_prose
from ltocompat.rules.rule import Component, Requirement
from ltocompat.rules.selection import Selection, SelectionFailure


def judge_loaded(case: Case, signature: ModuleSignature, trials: Trials) -> ModuleVerdict:
    """Judge a module that a driver loads.

    Args:
        case: the target and GPU.
        signature: the module.
        trials: the answers of linkers and drivers to it.
    """
    gpu = case.gpu
    if gpu is None:
        return _NO_GPU
    judged = _judge_picked(case, case.engine.loaded_code(signature, gpu), None)
    if judged.ignores_concatenated and (seen := without_concatenated(signature)):
        judged = _judge_picked(case, case.engine.loaded_code(seen, gpu), None)
    tried = trials.get(load_key(case.target.name, gpu.arch)) if trials else None
    return judged if tried is None else with_trial(judged, tried)


_NO_GPU = ModuleVerdict(not_judged=frozenset({"load"}), why="the target names no GPU")
_NO_ARCH = ModuleVerdict(not_judged=frozenset({"link"}), why="it names no architecture")
_NO_LINKER = ModuleVerdict(
    selection=Selection.LINK, not_judged=frozenset({"link"}), why="the target names no linker"
)
_UNREAD = ModuleVerdict(
    selection=Selection.UNREAD,
    why="it is after the first region of its object, and linkers read only the first region",
)


def judge_linked(case: Case, signature: ModuleSignature, trials: Trials) -> ModuleVerdict:
    """Judge a module that is linked; the arguments are those of ``judge_loaded``."""
    waits, lto = signature.needs_device_link or signature.behind_first, case.target.lto
    known, offline = case.target.linker_of(objects=waits)
    aim = case.gpu or own_target(signature)
    if aim is None:
        return _NO_ARCH
    linker = None if known is None else known.value
    if signature.behind_first:
        return replace(_UNREAD, picked=pick_for_linker(signature, aim.arch, linker, lto=lto).images)
    if linker is None:
        return _linked_by_any(case, signature, aim)
    tried = trials.get(link_key(linker, aim.arch, offline=offline, lto=lto))
    left = signature if tried is None else narrowed(signature, linker, tried)
    code = case.engine.linked_code(left, aim, traits_of(linker, lto=lto), offline=offline)
    judged = _judge_picked(case, code, linker)
    if tried is None or code.subject is None:  # a trial is not of what no linker takes
        return judged
    return with_trial(judged, tried)


def _linked_by_any(case: Case, signature: ModuleSignature, aim: Gpu) -> ModuleVerdict:
    """A link by a linker that the target doesn't name: what no linker takes fails all the same.

    What a driver may link is unknown.
    """
    code = case.engine.linked_code(signature, aim, None)
    if code.missed:
        return ModuleVerdict(why=str(code.missed))
    findings = case.findings(
        _refused_by_all(requirement)
        for requirement in code.requirements
        if requirement.component is Component.LINKER
        and all(requirement.constraint.judge(linker) is Verdict.FAIL for linker in _every_linker())
    )
    if not findings:
        return replace(_NO_LINKER, picked=code.images)
    why = f"{signature.images[0]}: no linker accepts it"
    verdict = worst(each.verdict for each in findings)
    return ModuleVerdict(verdict, Selection.LINK, findings, picked=code.images, why=why)


def _refused_by_all(requirement: Requirement) -> Ruling:
    may_link = requirement.constraint.driver_may_link
    verdict = Verdict.UNKNOWN if may_link else Verdict.FAIL
    text = requirement.text("doubt" if may_link else "consequence")
    return Ruling(requirement, verdict, f"{requirement.subject}: {text}")


@functools.cache
def _every_linker() -> tuple[Release, ...]:
    """The releases of all linkers that are known, and one after them."""
    known = nvjitlink_minors()
    return (*known, Release(known[-1].major + 1, 0))


def _judge_picked(case: Case, code: PickedCode, linker: Release | None) -> ModuleVerdict:
    """The verdict on what is picked to be linked; without a linker, to be loaded."""
    subject = code.subject
    if subject is None:
        # An object without kernels is linked for its functions: nothing says that it is not needed.
        empty = linker is None and code.without_kernels
        open_ = linker is None and code.missed is SelectionFailure.OTHER_KIND
        why = f"{code.missed}{', and it has no kernels' if empty else ''}"
        halves = frozenset({"load"} if open_ else ())
        picked = code.selection
        return ModuleVerdict(selection=picked, not_judged=halves, why=why, without_kernels=empty)
    rulings = case.rulings(code.requirements, linker, offline=subject.offline)
    if any(image.problem is not None for image in subject.picked):
        rulings = [_doubted(ruling) for ruling in rulings]
    unanswered = (each.requirement.component for each in rulings if each.verdict is None)
    known = (ruling.verdict for ruling in rulings if ruling.verdict is not None)
    verdict = worst((Verdict.OK, *known))  # where nothing is asked of the target, all is well
    # PTX that the driver refuses is not compiled at load.
    untold = Verdict.JIT if verdict is Verdict.FAIL else None
    return ModuleVerdict(
        verdict,
        code.selection,
        case.findings(ruling for ruling in rulings if ruling.verdict is not untold),
        frozenset("load" for component in unanswered if component is not Component.LINKER),
        subject.picked,
        Reasoning(subject, tuple(rulings)),
        code.without_kernels,
        any(
            ruling.verdict is Verdict.FAIL and ruling.requirement.constraint.ignores_concatenated
            for ruling in rulings
        ),
    )


def _doubted(ruling: Ruling) -> Ruling:
    """Make a failure unknown: bytes that contradict themselves are not certain enough to fail."""
    return replace(ruling, verdict=Verdict.UNKNOWN) if ruling.verdict is Verdict.FAIL else ruling


def with_trial(judged: ModuleVerdict, tried: TrialOutcome) -> ModuleVerdict:
    """Return the verdict after a trial, which may make it worse or settle an unknown one."""
    about = (finding.verdict for finding in judged.findings if _about(tried, finding))
    by_rules = worst((Verdict.OK, *about))
    if tried.outcome in ("crashed", "timed out"):
        # What took too long says nothing: where the rules decide, they do.
        decided = tried.outcome == "timed out" and by_rules is not Verdict.UNKNOWN
        if decided and judged.verdict is Verdict.NOT_FOR_GPU:
            return judged
        verdict = Verdict.OK if decided else Verdict.UNKNOWN
        message = f"{tried.subject} {tried.outcome} on it: {tried.reason}"
        return _add(judged, tried, TRIAL_REFUSED, verdict, message)
    return (_taken if tried.worked else _refused)(judged, tried, by_rules)


def _refused(judged: ModuleVerdict, tried: TrialOutcome, by_rules: Verdict) -> ModuleVerdict:
    """After a refusal, which a module that nothing is picked of, or that fails, calls for."""
    if judged.verdict is Verdict.NOT_FOR_GPU or by_rules is Verdict.FAIL:
        return judged
    message = f"{tried.subject} refuses it: {tried.reason}"
    foreseen = tried.refused_for_age and any(each.is_condition for each in judged.findings)
    if by_rules is Verdict.UNKNOWN or foreseen:
        return _add(_settled(judged, tried), tried, TRIAL_REFUSED, Verdict.FAIL, message)
    message = f"the rules say {by_rules}, but {message}"
    return _add(judged, tried, TRIAL_DISAGREES, Verdict.FAIL, message)


def _taken(judged: ModuleVerdict, tried: TrialOutcome, by_rules: Verdict) -> ModuleVerdict:
    """After a success, which never betters a verdict, but settles an unknown one."""
    if judged.verdict is Verdict.NOT_FOR_GPU:
        if judged.not_judged:
            return judged
        message = f"the rules pick no image of this module, but {tried.subject} {tried.outcome} it"
        with_note = _add(judged, tried, TRIAL_DISAGREES, Verdict.UNKNOWN, message)
        # It serves as little as before: a trial betters nothing.
        return replace(with_note, verdict=Verdict.NOT_FOR_GPU)
    if by_rules is Verdict.FAIL:
        message = f"the rules say that this module fails, but {tried.subject} {tried.outcome} it"
        return _add(judged, tried, TRIAL_DISAGREES, Verdict.FAIL, message)
    answered = [finding for finding in judged.findings if _answered(tried, finding)]
    if tried.proves and answered:
        message = f"{tried.subject} {tried.outcome} it"
        settled = _settled(judged, tried)
        # All that was unknown are facts that bytes hide, and a link has shown.
        why = next((each for each in answered if not each.promised_after_trial), None)
        if why is None:
            return _add(settled, tried, TRIAL_REFUSED, Verdict.OK, message)
        message += f", but NVIDIA doesn't document that it works ({why.rule}: {why.subject})"
        return _add(settled, tried, TRIAL_REFUSED, Verdict.UNDOCUMENTED, message, fix=why.remedy)
    return judged


def _about(tried: TrialOutcome, finding: Finding) -> bool:
    """Return whether a trial answers a finding: a trial link says nothing of a later load."""
    return tried.by_driver or not finding.about_loading


def _answered(tried: TrialOutcome, finding: Finding) -> bool:
    """Return whether a trial tells what bytes did not; a success by chance would tell nothing."""
    chance = tried.worked and finding.nondeterministic
    open_ = finding.verdict is Verdict.UNKNOWN or finding.is_condition
    return open_ and _about(tried, finding) and not chance


def _settled(judged: ModuleVerdict, tried: TrialOutcome) -> ModuleVerdict:
    """The verdict on a module without what a trial has answered."""
    left = tuple(finding for finding in judged.findings if not _answered(tried, finding))
    return replace(
        judged, findings=left, verdict=worst((Verdict.OK, *(finding.verdict for finding in left)))
    )


def _add(
    judged: ModuleVerdict,
    tried: TrialOutcome,
    rule: str,
    verdict: Verdict,
    text: str,
    *,
    fix: str = "",
) -> ModuleVerdict:
    """The verdict with what a trial says, told as the linker's or the driver's."""
    what, command = ("load", "check --trial-load") if tried.by_driver else ("link", "link")
    again = f": ltocompat {command}" if rule == TRIAL_REFUSED else ""
    finding = finding_by_engine(
        rule,
        verdict,
        text,
        evidence=f"a trial {what}",
        remedy=fix or f"{rule_prose(rule).finding_remedy}{again}",
        source="the driver itself" if tried.by_driver else f"{tried.who.split()[0]} itself",
        subject=tried.cause or tried.outcome,
    )
    whole = worst((judged.verdict, verdict))
    return replace(judged, verdict=whole, findings=(*judged.findings, finding))
