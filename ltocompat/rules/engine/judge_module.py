"""The verdict on one module, on one target and GPU: selection first, then rules, then trials."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ltocompat.model.arch import ArchForm, Release
from ltocompat.model.image import ImageKind
from ltocompat.model.signature import Shape, Traits
from ltocompat.model.target import Gpu, Known, Target
from ltocompat.model.trial_answer import Trials, Tried, link_key, load_key, narrowed
from ltocompat.model.verdict import LEVELS, Finding, Level, Route, Verdict, worst
from ltocompat.rules.catalogue import requirements_of, rule
from ltocompat.rules.engine.evaluate import Ruling, evaluate
from ltocompat.rules.rule import Axis, Subject
from ltocompat.rules.selection import Missed, pick_for_driver, pick_for_linker

_LINK_AXES = (Axis.LINKER, Axis.NONE)


@dataclass(frozen=True, slots=True)
class Judged:
    """What is said of one module.

    Attributes:
        verdict: None where the module says nothing: it is not for this GPU, has no kernels, or
            nothing of it could be judged.
        how: ``sass``, ``ptx``, ``link``, ``without kernels`` or ``none``.
        findings: with a count of 0, for the fold to count.
        not_judged: halves that the target says too little for.
        picked: the images that were picked.
        why: the reasoning in one sentence.
        empty: it is not for the GPU, and has no kernels that could be missed there.
    """

    verdict: Verdict | None
    how: str
    findings: tuple[Finding, ...] = ()
    not_judged: frozenset[str] = frozenset()
    picked: tuple[Traits, ...] = ()
    why: str = ""
    empty: bool = False


def ways(shape: Shape) -> tuple[Route, ...]:
    """How a module gets onto a GPU: what the runtime registers is loaded, LTO-IR is linked.

    LTO-IR beside code that can be loaded goes both ways, and so does a file of relocatable code.
    """
    if shape.needs_device_link:
        return (Route.LINK,)
    if shape.registered or not shape.images:
        return (Route.LOAD,)
    lto = any(image.kind is ImageKind.LTOIR for image in shape.images)
    others = [image for image in shape.images if image.kind is not ImageKind.LTOIR]
    relocatable = all(image.relocatable for image in others)
    if lto and relocatable:
        return (Route.LINK,)
    # What a library does with relocatable code of its own can't be known; a file is for both.
    both = lto or (relocatable and shape.registered is None)
    return (Route.LOAD, Route.LINK) if both else (Route.LOAD,)


def possible_ways(shape: Shape) -> tuple[Route, ...]:
    """The ways that a caller may name: LTO-IR in a file of its own can be loaded, if in vain."""
    loose = shape.registered is None and not shape.needs_device_link
    return (Route.LOAD, *ways(shape)) if loose else ways(shape)


def judge(shape: Shape, target: Target, gpu: Gpu | None, route: Route, trials: Trials) -> Judged:
    """Judge a module.

    Args:
        shape: the module.
        target: where it is going.
        gpu: one of its GPUs; None where it names none.
        route: how it gets there.
        trials: what linkers did with it.
    """
    if route is Route.LOAD:
        return (
            _loaded(shape, target, gpu, trials) if trials else _loaded_untried(shape, target, gpu)
        )
    return _linked(shape, target, gpu, trials)


@functools.lru_cache(maxsize=8192)  # asked before kernels are counted, and again after
def _loaded_untried(shape: Shape, target: Target, gpu: Gpu | None) -> Judged:
    return _loaded(shape, target, gpu, {})


def _loaded(shape: Shape, target: Target, gpu: Gpu | None, trials: Trials) -> Judged:
    if gpu is None:
        return Judged(None, "none", not_judged=frozenset({"load"}), why="the target names no GPU")
    pick = pick_for_driver(shape, gpu.arch.number)
    subject = Subject(shape, Route.LOAD, gpu, pick.images, pick.missed)
    if pick.missed is Missed.NOT_FOR_GPU and _without_kernels(shape.images):
        why = f"{pick.missed}, and it has no kernels"
        return Judged(None, "none", why=why, empty=True)
    if pick.missed not in (None, Missed.LTO_ONLY):
        unread = frozenset({"load"}) if pick.missed is Missed.OTHER_KIND else frozenset[str]()
        return Judged(None, "none", not_judged=unread, why=str(pick.missed))
    if pick.images and all(image.has_kernels is False for image in pick.images):
        return Judged(None, "without kernels", picked=pick.images, why="no kernels in it")
    how = str(pick.images[0].kind) if pick.images else "none"
    judged = _ruled(subject, target, gpu, None, how)
    seen = _seen_by_old_drivers(shape, judged)
    if seen is not None:
        return _loaded(seen, target, gpu, trials)
    tried = trials.get(load_key(target.name, gpu.arch))
    return judged if tried is None else _with_trial(judged, tried)


def _seen_by_old_drivers(shape: Shape, judged: Judged) -> Shape | None:
    """What is left of a module for a driver that sees no concatenated entries; None for nothing."""
    blind = any(one.rule == "FB-03" and one.verdict is Verdict.FAIL for one in judged.findings)
    left = tuple(image for image in shape.images if not image.concatenated)
    return replace(shape, images=left) if blind and left else None


def _without_kernels(images: Iterable[Traits]) -> bool:
    """Whether the kernels of all SASS and PTX were counted, and none found."""
    code = (ImageKind.SASS, ImageKind.PTX)
    counted = [image.has_kernels for image in images if image.kind in code]
    return bool(counted) and all(one is False for one in counted)


def _linked(shape: Shape, target: Target, gpu: Gpu | None, trials: Trials) -> Judged:
    offline = shape.needs_device_link and target.nvlink is not None
    known = target.nvlink if offline else target.nvjitlink
    aim = gpu or _own_target(shape)
    if aim is None:
        return Judged(None, "none", not_judged=frozenset({"link"}), why="it names no architecture")
    if known is None:
        pick = pick_for_linker(shape, aim.arch, None)
        how = "none" if pick.missed else "link"
        unjudged = frozenset({"link"}) if not pick.missed else frozenset[str]()
        why = str(pick.missed) if pick.missed else "the target names no linker"
        return Judged(None, how, not_judged=unjudged, picked=pick.images, why=why)
    found = []
    for linker in known.values:
        tried = None if offline else trials.get(link_key(linker, aim.arch))
        said = shape if tried is None else narrowed(shape, linker, tried)
        pick = pick_for_linker(said, aim.arch, linker)
        if pick.missed:
            found.append(Judged(None, "none", why=str(pick.missed)))
            continue
        subject = Subject(said, Route.LINK, aim, pick.images, None, linker, offline)
        judged = _ruled(subject, target, gpu, linker, "link")
        found.append(judged if tried is None else _with_trial(judged, tried))
    return over(known, found)


def _own_target(shape: Shape) -> Gpu | None:
    """Where no GPU is named, the link for the newest architecture of the module itself."""
    archs = [image.arch for image in shape.images if image.arch is not None]
    if not archs:
        return None
    newest = replace(max(archs, key=lambda arch: arch.number), form=ArchForm.REAL)
    return Gpu(str(newest), newest)


def _ruled(
    subject: Subject, target: Target, gpu: Gpu | None, linker: Release | None, how: str
) -> Judged:
    rulings = [evaluate(one, target, gpu, linker) for one in requirements_of(subject)]
    not_judged = {
        "load" for one in rulings if one.verdict is None and one.requirement.axis is not Axis.LINKER
    }
    verdict = worst(one.verdict for one in rulings if one.verdict is not None)
    told = [one for one in rulings if one.message]
    if verdict is Verdict.FAIL:  # PTX that the driver refuses is not compiled at load
        told = [one for one in told if one.verdict is not Verdict.JIT]
    findings = tuple(map(finding_of, told))
    why = _why(subject, rulings)
    return Judged(verdict, how, findings, frozenset(not_judged), subject.picked, why)


def finding_of(ruling: Ruling) -> Finding:
    """The finding behind a ruling that has a message; the fold counts its modules."""
    asked = ruling.requirement
    verdict = ruling.verdict or Verdict.OK
    said = rule(asked.rule)
    return Finding(
        asked.rule,
        verdict,
        LEVELS[verdict],
        ruling.message,
        asked.remedy,
        asked.evidence,
        said.source,
    )


def _why(subject: Subject, rulings: list[Ruling]) -> str:
    """``SASS sm_90: driver >= 525.60.13 ok (DRV-01)``: what was picked and what it was held to."""
    picked = ", ".join(dict.fromkeys(map(str, subject.picked))) or str(subject.missed)
    held = [
        f"{one.requirement.axis} {one.requirement.constraint} "
        f"{'not judged' if one.verdict is None else one.verdict} ({one.requirement.rule})"
        for one in rulings
        if one.requirement.axis is not Axis.OPTIONS and _in_play(one)
    ]
    return f"{picked}: {'; '.join(held)}" if held else f"{picked}: nothing is asked of the target"


def _in_play(ruling: Ruling) -> bool:
    """Whether a ruling could have been another: an axis that is there, a constraint that asks."""
    asked = ruling.requirement
    idle = asked.axis is Axis.COMPAT and ruling.verdict is Verdict.OK
    return not idle and (ruling.verdict is not Verdict.OK or str(asked.constraint) != "any")


def over(known: Known[Release], found: list[Judged]) -> Judged:
    """The fold over all releases that the target's linker can have."""
    judged = [one for one in found if one.verdict is not None]
    if not judged:
        return found[0]
    verdicts = {one.verdict for one in found}
    worst_one = max(judged, key=lambda one: one.verdict or Verdict.OK)
    if len(verdicts) == 1 or known.every:
        return worst_one
    findings = tuple(
        replace(
            one,
            verdict=Verdict.UNKNOWN,
            level=LEVELS[Verdict.UNKNOWN],
            message=f"{one.message}; nvJitLink {known.text} can be {known.values[0]} to "
            f"{known.values[-1]}: give its minor release",
        )
        if one.verdict is worst_one.verdict
        else one
        for one in worst_one.findings
    )
    return replace(worst_one, verdict=Verdict.UNKNOWN, findings=findings)


def _with_trial(judged: Judged, tried: Tried) -> Judged:
    """A verdict after a trial: it may lower it and settle an unknown."""
    verdict = judged.verdict or Verdict.OK
    by_rules = worst(one.verdict for one in judged.findings if _about(tried, one))
    asked = f"the {tried.who}" if tried.who.startswith("driver") else tried.who
    if tried.outcome in ("crashed", "timed out"):
        said = f"{asked} {tried.outcome} on it: {tried.said}"
        return _add(judged, max(verdict, Verdict.UNKNOWN), "TRIAL", Verdict.UNKNOWN, said)
    if not tried.worked and by_rules < Verdict.FAIL:
        said = f"{asked} refuses it: {tried.said}"
        if by_rules is Verdict.UNKNOWN:
            return _add(_settled(judged, tried), Verdict.FAIL, "TRIAL", Verdict.FAIL, said)
        said = f"by the rules it is {by_rules}, but {said}"
        return _add(judged, Verdict.FAIL, "TRIAL-DISAGREES", Verdict.FAIL, said)
    if tried.worked and by_rules is Verdict.FAIL:
        said = f"by the rules it fails, but {asked} {tried.outcome} it"
        return _add(judged, verdict, "TRIAL-DISAGREES", verdict, said)
    if tried.proves and by_rules is Verdict.UNKNOWN:
        settled = _settled(judged, tried)
        said = f"{asked} {tried.outcome} it, which is outside of what is documented"
        least = max(settled.verdict or Verdict.OK, Verdict.UNDOCUMENTED)
        return _add(settled, least, "TRIAL", Verdict.UNDOCUMENTED, said)
    return judged


def _about(tried: Tried, finding: Finding) -> bool:
    """Whether a trial answers a finding: one of a link says nothing of what is loaded later."""
    later = finding.rule.startswith(("DRV", "CMP", "LTO-10b"))
    return tried.who.startswith("driver") or not later


def _settled(judged: Judged, tried: Tried) -> Judged:
    """The same without the unknown that a trial has answered."""
    left = tuple(
        one
        for one in judged.findings
        if one.verdict is not Verdict.UNKNOWN or not _about(tried, one)
    )
    return replace(judged, findings=left, verdict=worst(one.verdict for one in left))


def _add(judged: Judged, verdict: Verdict, rule_id: str, said_to_be: Verdict, text: str) -> Judged:
    said = rule(rule_id)
    level = LEVELS[said_to_be] if said_to_be is not Verdict.OK else Level.NOTE
    finding = Finding(rule_id, said_to_be, level, text, said.remedy, "a trial link", said.source)
    return replace(judged, verdict=verdict, findings=(*judged.findings, finding))
