"""The verdict on one module, on one target and GPU: selection first, then rules, then trials."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ltocompat.facts import nvjitlink_minors
from ltocompat.model.arch import ArchForm, Release
from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.target import Gpu, Target, VersionSet
from ltocompat.model.trial_answer import TrialOutcome, Trials, link_key, load_key, narrowed
from ltocompat.model.verdict import LEVELS, THE_TARGET_HAS, Finding, Route, Verdict, worst
from ltocompat.rules.catalogue import requirements_of, rule
from ltocompat.rules.emitted import TRIAL_DISAGREES, TRIAL_REFUSED
from ltocompat.rules.engine.evaluate import Evaluation, evaluate
from ltocompat.rules.rule import ABOUT_LOADING, Component, Subject, beside_picked
from ltocompat.rules.selection import Missed, pick_for_driver, pick_for_linker

OTHER_ROUTE = "other route"


@dataclass(frozen=True, slots=True)
class ModuleVerdict:
    """The verdict on one module.

    Attributes:
        verdict: None where the module says nothing: it is not for this GPU, or nothing of it could
            be judged.
        how: ``sass``, ``ptx``, ``link``, ``without kernels``, ``none`` or ``other route``.
        findings: with a count of 0, for the fold to count.
        not_judged: halves that the target says too little for.
        picked: the images that were picked.
        why: the reasoning in one sentence.
        without_kernels: what is picked, or all of it where nothing is, has no kernels.
        blind_to_concatenated: the driver reads on as if concatenated entries were not there.
        serves_elsewhere: it goes another route than the one that is judged, and serves there.
    """

    verdict: Verdict | None
    how: str
    findings: tuple[Finding, ...] = ()
    not_judged: frozenset[str] = frozenset()
    picked: tuple[ImageSignature, ...] = ()
    why: str = ""
    without_kernels: bool = False
    blind_to_concatenated: bool = False
    serves_elsewhere: bool = False


def ways(signature: ModuleSignature) -> tuple[Route, ...]:
    """How a module gets onto a GPU: what the runtime registers is loaded, LTO-IR is linked.

    A file of PTX or relocatable code goes both ways, and so does LTO-IR beside code that can be
    loaded.
    """
    if signature.needs_device_link:
        return (Route.LINK,)
    if signature.registered or not signature.images:
        return (Route.LOAD,)
    others = [image for image in signature.images if image.kind is not ImageKind.LTOIR]
    lto = len(others) < len(signature.images)
    if not others:
        return (Route.LINK,)
    if signature.registered is None:
        both = lto or all(image.kind is ImageKind.PTX or image.relocatable for image in others)
        return (Route.LOAD, Route.LINK) if both else (Route.LOAD,)
    # What a library does with relocatable code of its own can't be known.
    if lto and all(image.relocatable for image in others):
        return (Route.LINK,)
    return (Route.LOAD, Route.LINK) if lto else (Route.LOAD,)


def ways_on(signature: ModuleSignature, target: Target) -> tuple[Route, ...]:
    """The ways that are judged where the caller names none.

    PTX is linked only where something links it: a target without a linker asks for no such line.
    """
    found = ways(signature)
    if target.nvjitlink is None and all(image.kind is ImageKind.PTX for image in signature.images):
        return found[:1]
    return found


def possible_ways(signature: ModuleSignature) -> tuple[Route, ...]:
    """The ways that a caller may name: a file of its own can be loaded and linked, if in vain."""
    loose = signature.registered is None and not signature.needs_device_link
    return (Route.LOAD, Route.LINK) if loose else ways(signature)


def off_route(route: Route, *, serves_elsewhere: bool = False) -> ModuleVerdict:
    """What is said of a module that does not go the route that is judged."""
    other = "linked" if route is Route.LOAD else "loaded"
    why = f"it is {other}, which another line judges"
    return ModuleVerdict(None, OTHER_ROUTE, why=why, serves_elsewhere=serves_elsewhere)


def judge(
    signature: ModuleSignature, target: Target, gpu: Gpu | None, route: Route, trials: Trials
) -> ModuleVerdict:
    """Judge a module.

    Args:
        signature: the module.
        target: where it is going.
        gpu: one of its GPUs; None where it names none.
        route: how it gets there.
        trials: what linkers did with it.
    """
    if route is Route.LOAD:
        return _loaded(signature, target, gpu, trials)
    return _linked(signature, target, gpu, trials)


def _loaded(
    signature: ModuleSignature, target: Target, gpu: Gpu | None, trials: Trials
) -> ModuleVerdict:
    judged = _loaded_by_rules(signature, target, gpu)
    tried = None if gpu is None else trials.get(load_key(target.name, gpu.arch))
    return judged if tried is None else _with_trial(judged, tried)


@functools.lru_cache(maxsize=8192)  # asked before kernels are counted, and again after
def _loaded_by_rules(signature: ModuleSignature, target: Target, gpu: Gpu | None) -> ModuleVerdict:
    if gpu is None:
        return ModuleVerdict(
            None, "none", not_judged=frozenset({"load"}), why="the target names no GPU"
        )
    pick = pick_for_driver(signature, gpu.arch.number)
    seen = beside_picked(signature, pick.images)
    subject = Subject(seen, Route.LOAD, gpu, pick.images, pick.missed)
    if pick.missed and _damaged(signature):
        return _ruled(subject, target, gpu, None, "damaged")
    if pick.missed is Missed.NOT_FOR_GPU and _without_kernels(signature.images):
        why = f"{pick.missed}, and it has no kernels"
        return ModuleVerdict(None, "none", why=why, without_kernels=True)
    if pick.missed not in (None, Missed.LTO_ONLY):
        unread = frozenset({"load"}) if pick.missed is Missed.OTHER_KIND else frozenset[str]()
        return ModuleVerdict(None, "none", not_judged=unread, why=str(pick.missed))
    how = str(pick.images[0].kind) if pick.images else "none"
    judged = _ruled(subject, target, gpu, None, how)
    if pick.images and _without_kernels(pick.images):
        judged = replace(judged, how="without kernels", without_kernels=True)
    left = _seen_by_old_drivers(signature, judged)
    return judged if left is None else _loaded_by_rules(left, target, gpu)


def _damaged(signature: ModuleSignature) -> bool:
    """Whether headers by which images are picked can't be trusted, so that nothing is excluded."""
    return any(image.problem is not None for image in signature.images)


def _seen_by_old_drivers(
    signature: ModuleSignature, judged: ModuleVerdict
) -> ModuleSignature | None:
    """What is left of a module for a driver that sees no concatenated entries; None for nothing."""
    left = tuple(image for image in signature.images if not image.concatenated)
    return replace(signature, images=left) if judged.blind_to_concatenated and left else None


def _without_kernels(images: Iterable[ImageSignature]) -> bool:
    """Whether the kernels of all SASS and PTX were counted, and none found."""
    code = (ImageKind.SASS, ImageKind.PTX)
    counted = [image.has_kernels for image in images if image.kind in code]
    return bool(counted) and all(flag is False for flag in counted)


def _linked(
    signature: ModuleSignature, target: Target, gpu: Gpu | None, trials: Trials
) -> ModuleVerdict:
    offline = signature.needs_device_link and target.nvlink is not None
    known = target.nvlink if offline else target.nvjitlink
    aim = gpu or own_target(signature)
    if aim is None:
        return ModuleVerdict(
            None, "none", not_judged=frozenset({"link"}), why="it names no architecture"
        )
    if known is None:
        return _linked_by_any(signature, aim)
    found = []
    for linker in known.values:
        tried = trials.get(link_key(linker, aim.arch, offline=offline))
        left = signature if tried is None else narrowed(signature, linker, tried)
        pick = pick_for_linker(left, aim.arch, linker)
        if pick.missed:  # of what it is too old to know, the newest linker says whom it is for
            pick = pick_for_linker(left, aim.arch, None)
        if pick.missed and _damaged(left):
            subject = Subject(left, Route.LINK, aim, (), pick.missed, linker, offline)
            judged = _ruled(subject, target, gpu, linker, "damaged")
            found.append(judged if tried is None else _with_trial(judged, tried))
            continue
        if pick.missed:
            found.append(ModuleVerdict(None, "none", why=str(pick.missed)))
            continue
        seen = beside_picked(left, pick.images)
        subject = Subject(seen, Route.LINK, aim, pick.images, None, linker, offline)
        judged = _ruled(subject, target, gpu, linker, "link")
        found.append(judged if tried is None else _with_trial(judged, tried))
    return over(known, found)


def _linked_by_any(signature: ModuleSignature, aim: Gpu) -> ModuleVerdict:
    """A link by a linker that the target doesn't name: what no linker takes fails all the same."""
    pick = pick_for_linker(signature, aim.arch, None)
    if pick.missed:
        return ModuleVerdict(None, "none", picked=pick.images, why=str(pick.missed))
    subject = Subject(beside_picked(signature, pick.images), Route.LINK, aim, pick.images)
    refused = [
        Evaluation(requirement, Verdict.FAIL, f"{requirement.subject}: {requirement.consequence}")
        for requirement in requirements_of(subject)
        if requirement.component is Component.LINKER
        and all(requirement.constraint.judge(linker) is Verdict.FAIL for linker in _every_linker())
    ]
    if not refused:
        why = "the target names no linker"
        unjudged = frozenset({"link"})
        return ModuleVerdict(None, "link", not_judged=unjudged, picked=pick.images, why=why)
    findings = tuple(map(finding_of, refused))
    why = f"{signature.images[0]}: no linker takes it"
    return ModuleVerdict(Verdict.FAIL, "link", findings, picked=pick.images, why=why)


@functools.cache
def _every_linker() -> tuple[Release, ...]:
    """The releases of all linkers that are known, and one after them."""
    known = nvjitlink_minors()
    return (*known, Release(known[-1].major + 1, 0))


def own_target(signature: ModuleSignature) -> Gpu | None:
    """Where no GPU is named, the link for the newest architecture of the module itself."""
    archs = [image.arch for image in signature.images if image.arch is not None]
    if not archs:
        return None
    newest = replace(max(archs, key=lambda arch: arch.number), form=ArchForm.REAL)
    return Gpu(str(newest), newest)


@functools.lru_cache(maxsize=8192)  # modules that differ in what is not picked are judged alike
def _ruled(
    subject: Subject, target: Target, gpu: Gpu | None, linker: Release | None, how: str
) -> ModuleVerdict:
    rulings = [
        evaluate(requirement, target, gpu, linker, offline=subject.offline)
        for requirement in requirements_of(subject)
    ]
    not_judged = {
        "load"
        for ruling in rulings
        if ruling.verdict is None and ruling.requirement.component is not Component.LINKER
    }
    verdict = worst(evaluation.verdict for evaluation in rulings if evaluation.verdict is not None)
    evaluations = [each_ruling for each_ruling in rulings if each_ruling.message]
    if verdict is Verdict.FAIL:  # PTX that the driver refuses is not compiled at load
        evaluations = [
            each_evaluation
            for each_evaluation in evaluations
            if each_evaluation.verdict is not Verdict.JIT
        ]
    findings = tuple(map(finding_of, evaluations))
    why = _why(subject, rulings)
    blind = any(
        ruling.verdict is Verdict.FAIL and ruling.requirement.constraint.hides_concatenated
        for ruling in rulings
    )
    return ModuleVerdict(
        verdict,
        how,
        findings,
        frozenset(not_judged),
        subject.picked,
        why,
        blind_to_concatenated=blind,
    )


def finding_of(ruling: Evaluation) -> Finding:
    """The finding behind a ruling that has a message; the fold counts its modules."""
    requirement = ruling.requirement
    verdict = ruling.verdict or Verdict.OK
    return Finding(
        requirement.rule,
        verdict,
        requirement.constraint.level(verdict),
        ruling.message,
        requirement.remedy,
        requirement.evidence,
        rule(requirement.rule).source,
        about_loading=requirement.component in ABOUT_LOADING,
        decided_by_trial=requirement.constraint.decided_by_trial(verdict),
        headline=ruling.headline,
    )


def _why(subject: Subject, rulings: list[Evaluation]) -> str:
    """``SASS sm_90: driver >= 525.60.13 ok (DRV-01)``: what was picked and what it was held to."""
    picked = ", ".join(dict.fromkeys(map(str, subject.picked))) or str(subject.missed)
    held = [
        f"{ruling.requirement.component} {ruling.requirement.constraint} "
        f"{'not judged' if ruling.verdict is None else ruling.verdict} ({ruling.requirement.rule})"
        for ruling in rulings
        if ruling.requirement.component is not Component.OPTIONS and _in_play(ruling)
    ]
    return f"{picked}: {'; '.join(held)}" if held else f"{picked}: nothing is asked of the target"


def _in_play(ruling: Evaluation) -> bool:
    """Whether the answer could have been another: a component is there, a constraint asks."""
    requirement = ruling.requirement
    idle = requirement.component is Component.COMPAT and ruling.verdict is Verdict.OK
    return not idle and (ruling.verdict is not Verdict.OK or str(requirement.constraint) != "any")


def over(known: VersionSet[Release], found: list[ModuleVerdict]) -> ModuleVerdict:
    """The fold over all releases that the target's linker can have."""
    judged = [
        each_module_verdict
        for each_module_verdict in found
        if each_module_verdict.verdict is not None
    ]
    if not judged:
        return found[0]
    verdicts = {module_verdict.verdict for module_verdict in found}
    worst_one = max(judged, key=lambda module_verdict: module_verdict.verdict or Verdict.OK)
    if known.every:
        return next((each for each in found if each.verdict is None), worst_one)
    if len(verdicts) == 1:
        return worst_one
    findings = tuple(
        replace(
            finding,
            verdict=Verdict.UNKNOWN,
            level=LEVELS[Verdict.UNKNOWN],
            message=f"{finding.message}; nvJitLink {known.text} can be {known.values[0]} to "
            f"{known.values[-1]}: give its minor release",
            headline=f"{finding.headline.partition(f'; {THE_TARGET_HAS} ')[0]}; "
            f"nvJitLink {known.text} can be {known.values[0]} to {known.values[-1]}"
            if finding.headline
            else "",
        )
        if finding.verdict is worst_one.verdict
        else finding
        for finding in worst_one.findings
    )
    return replace(worst_one, verdict=Verdict.UNKNOWN, findings=findings)


def _with_trial(judged: ModuleVerdict, tried: TrialOutcome) -> ModuleVerdict:
    """A verdict after a trial: it may lower it and settle an unknown."""
    if tried.outcome in ("crashed", "timed out"):
        message = f"{tried.subject} {tried.outcome} on it: {tried.reason}"
        return _add(judged, tried, TRIAL_REFUSED, Verdict.UNKNOWN, message)
    by_rules = worst(finding.verdict for finding in judged.findings if _about(tried, finding))
    answered = _taken if tried.worked else _refused
    return answered(judged, tried, by_rules)


def _refused(judged: ModuleVerdict, tried: TrialOutcome, by_rules: Verdict) -> ModuleVerdict:
    """After a refusal, which a module that nothing is picked of, or that fails, calls for."""
    if judged.verdict is None or by_rules is Verdict.FAIL:
        return judged
    message = f"{tried.subject} refuses it: {tried.reason}"
    if by_rules is Verdict.UNKNOWN:
        return _add(_settled(judged, tried), tried, TRIAL_REFUSED, Verdict.FAIL, message)
    message = f"by the rules it is {by_rules}, but {message}"
    return _add(judged, tried, TRIAL_DISAGREES, Verdict.FAIL, message)


def _taken(judged: ModuleVerdict, tried: TrialOutcome, by_rules: Verdict) -> ModuleVerdict:
    """After a success, which never betters a verdict, but settles an unknown one."""
    if judged.verdict is None:
        if judged.not_judged:
            return judged
        message = f"by the rules nothing in it is picked, but {tried.subject} {tried.outcome} it"
        with_note = _add(judged, tried, TRIAL_DISAGREES, Verdict.UNKNOWN, message)
        # It serves as little as before: a trial betters nothing.
        return replace(with_note, verdict=None)
    if by_rules is Verdict.FAIL:
        message = f"by the rules it fails, but {tried.subject} {tried.outcome} it"
        return _add(judged, tried, TRIAL_DISAGREES, Verdict.FAIL, message)
    if tried.proves and by_rules is Verdict.UNKNOWN:
        message = f"{tried.subject} {tried.outcome} it, which is outside of what is documented"
        settled = _settled(judged, tried)
        return _add(settled, tried, TRIAL_REFUSED, Verdict.UNDOCUMENTED, message)
    return judged


def _about(tried: TrialOutcome, finding: Finding) -> bool:
    """Whether a trial answers a finding: one of a link says nothing of what is loaded later."""
    return tried.by_driver or not finding.about_loading


def _settled(judged: ModuleVerdict, tried: TrialOutcome) -> ModuleVerdict:
    """The same without the unknown that a trial has answered."""
    left = tuple(
        finding
        for finding in judged.findings
        if finding.verdict is not Verdict.UNKNOWN or not _about(tried, finding)
    )
    return replace(
        judged, findings=left, verdict=worst(each_finding.verdict for each_finding in left)
    )


def _add(
    judged: ModuleVerdict, tried: TrialOutcome, rule_id: str, of_trial: Verdict, text: str
) -> ModuleVerdict:
    """The verdict with what a trial says, told as the linker's or the driver's."""
    remedy = rule(rule_id).remedy
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
    )
    verdict = max(judged.verdict or Verdict.OK, of_trial)
    return replace(judged, verdict=verdict, findings=(*judged.findings, finding))
