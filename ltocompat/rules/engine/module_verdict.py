"""The verdict on one module as a value, and that on equal modules of an artifact."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.model.artifact_summary import ModuleGroup
from ltocompat.model.signature import ImageSignature
from ltocompat.model.verdict import Finding, Route, Verdict
from ltocompat.rules.constraints import AlwaysMet
from ltocompat.rules.engine.evaluate import Ruling
from ltocompat.rules.rule import Component, Subject
from ltocompat.rules.selection import Selection


class Reasoning(Struct, frozen=True, eq=False):
    """The picked images and their requirements, as text that is made when it is read.

    ``SASS sm_90: driver >= 525.60.13 ok (DRV-01)``.
    """

    subject: Subject
    rulings: tuple[Ruling, ...]

    def __str__(self) -> str:
        subject = self.subject
        picked = ", ".join(dict.fromkeys(map(str, subject.picked))) or str(subject.missed)
        held = "; ".join(filter(None, map(_as_held, self.rulings)))
        return f"{picked}: {held or 'the target needs nothing special'}"


def _as_held(ruling: Ruling) -> str:
    """``driver >= 525.60.13 ok (DRV-01)``; empty if nothing was in play."""
    requirement = ruling.requirement
    if requirement.component is Component.OPTIONS or not _in_play(ruling):
        return ""
    word = "noted" if ruling.verdict is Verdict.OK and ruling.message else ruling.verdict
    verdict = "not checked" if word is None else word
    if not requirement.constraint.weighs_values:
        return f"{verdict} on every target ({requirement.rule})"
    return f"{requirement.component} {requirement.constraint} {verdict} ({requirement.rule})"


def _in_play(ruling: Ruling) -> bool:
    """Return whether the answer could be another: a component is there, a constraint asks."""
    component, constraint = ruling.requirement.component, ruling.requirement.constraint
    always = isinstance(constraint, AlwaysMet) or str(constraint) == "any"
    idle = always or component is Component.COMPAT
    return ruling.verdict is not Verdict.OK or bool(ruling.message) or not idle


class ModuleVerdict(Struct, frozen=True, gc=False):
    """The verdict on one module.

    Attributes:
        verdict: also ``NOT_FOR_GPU`` if no part of it could be checked.
        selection: the kind of code that serves the GPU; ``unread`` if its linker skips it.
        findings: with a count of 0, for the fold to count.
        not_judged: ``load``, ``link``: routes for which the target has missing keys.
        picked: the picked images.
        why: the reasoning; ``str`` gives it in one sentence.
        without_kernels: True if the picked images, or all if none is picked, have no kernels.
        ignores_concatenated: True if the driver ignores concatenated entries.
        serves_elsewhere: True if it serves on another route than the checked one.
    """

    verdict: Verdict = Verdict.NOT_FOR_GPU
    selection: Selection = Selection.NONE
    findings: tuple[Finding, ...] = ()
    not_judged: frozenset[str] = frozenset()
    picked: tuple[ImageSignature, ...] = ()
    why: str | Reasoning = ""
    without_kernels: bool = False
    ignores_concatenated: bool = False
    serves_elsewhere: bool = False


class GroupVerdict(Struct, frozen=True, gc=False):
    """The verdict on equal modules.

    Attributes:
        group: the modules.
        module_verdict: the verdict on each of them.
        route: how they get onto the GPU.
        neutral: True if they have no kernels, so that the rules' verdicts on them don't count.
        by_itself: the worst of these verdicts, else None.
    """

    group: ModuleGroup
    module_verdict: ModuleVerdict
    route: Route
    neutral: bool = False
    by_itself: Finding | None = None

    @property
    def for_gpu(self) -> bool:
        """Return whether they are or may be for the GPU: some part was checked or is unknown."""
        found = self.module_verdict
        open_ = bool(found.not_judged) or found.serves_elsewhere
        return open_ or found.verdict is not Verdict.NOT_FOR_GPU

    def but(self, **changes: object) -> GroupVerdict:
        """Return this verdict with changes of the verdict on each module."""
        return replace(self, module_verdict=replace(self.module_verdict, **changes))
