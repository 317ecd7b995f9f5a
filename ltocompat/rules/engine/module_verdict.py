"""The verdict on one module as a value, and how those with several linkers fold."""

from __future__ import annotations

import functools

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.model.arch import Release
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import VersionSet
from ltocompat.model.verdict import LEVELS, THE_TARGET_HAS, Finding, Route, Verdict
from ltocompat.rules.engine.evaluate import Evaluation
from ltocompat.rules.rule import Component, Subject

OTHER_ROUTE = "other route"


class Reasoning(Struct, frozen=True, eq=False, dict=True):
    """What was picked and what it was held to, put into words when they are read.

    ``SASS sm_90: driver >= 525.60.13 ok (DRV-01)``.
    """

    subject: Subject
    rulings: tuple[Evaluation, ...]

    def __str__(self) -> str:
        return self._text

    @functools.cached_property
    def _text(self) -> str:
        subject = self.subject
        picked = ", ".join(dict.fromkeys(map(str, subject.picked))) or str(subject.missed)
        held = "; ".join(filter(None, map(_as_held, self.rulings)))
        return f"{picked}: {held or 'nothing is asked of the target'}"


@functools.lru_cache(maxsize=8192)  # code for many GPUs asks the same of their one driver
def _as_held(ruling: Evaluation) -> str:
    """``driver >= 525.60.13 ok (DRV-01)``; empty where nothing was in play."""
    requirement = ruling.requirement
    if requirement.component is Component.OPTIONS or not _in_play(ruling):
        return ""
    verdict = "not judged" if ruling.verdict is None else ruling.verdict
    return f"{requirement.component} {requirement.constraint} {verdict} ({requirement.rule})"


def _in_play(ruling: Evaluation) -> bool:
    """Whether the answer could have been another: a component is there, a constraint asks."""
    requirement = ruling.requirement
    idle = requirement.component is Component.COMPAT and ruling.verdict is Verdict.OK
    return not idle and (ruling.verdict is not Verdict.OK or str(requirement.constraint) != "any")


class ModuleVerdict(Struct, frozen=True, gc=False):
    """The verdict on one module.

    Attributes:
        verdict: None where the module says nothing: it is not for this GPU, or nothing of it could
            be judged.
        how: ``sass``, ``ptx``, ``link``, ``without kernels``, ``none`` or ``other route``.
        findings: with a count of 0, for the fold to count.
        not_judged: halves that the target says too little for.
        picked: the images that were picked.
        why: the reasoning; ``str`` gives it in one sentence.
        without_kernels: what is picked, or all of it where nothing is, has no kernels.
        blind_to_concatenated: the driver reads on as if concatenated entries were not there.
        serves_elsewhere: it goes another route than the one that is judged, and serves there.
    """

    verdict: Verdict | None
    how: str
    findings: tuple[Finding, ...] = ()
    not_judged: frozenset[str] = frozenset()
    picked: tuple[ImageSignature, ...] = ()
    why: str | Reasoning = ""
    without_kernels: bool = False
    blind_to_concatenated: bool = False
    serves_elsewhere: bool = False


def off_route(route: Route, *, serves_elsewhere: bool = False) -> ModuleVerdict:
    """What is said of a module that does not go the route that is judged."""
    other = "linked" if route is Route.LOAD else "loaded"
    why = f"it is {other}, which another line judges"
    return ModuleVerdict(None, OTHER_ROUTE, why=why, serves_elsewhere=serves_elsewhere)


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
