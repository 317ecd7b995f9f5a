"""The verdict on a host file: on the symbols that it imports and the libraries that it needs."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import Host
from ltocompat.model.target import Gpu, Target
from ltocompat.model.verdict import Verdict, worst
from ltocompat.rules.catalogue import RULES
from ltocompat.rules.engine.evaluate import Ruling, evaluate
from ltocompat.rules.engine.judge_module import Judged, finding_of, over
from ltocompat.rules.rule import Axis, Requirement


def judge_host(host: Host, target: Target, gpu: Gpu | None) -> Judged | None:
    """What rules say of a host file on a target; None where they have nothing to say."""
    asked = tuple(_requirements(host))
    if not asked:
        return None
    linkers = target.nvjitlink.values if target.nvjitlink else (None,)
    found = []
    for linker in linkers:
        rulings = [evaluate(one, target, gpu, linker) for one in asked]
        said = [one.verdict for one in rulings if one.verdict is not None and _says(one)]
        findings = tuple(finding_of(one) for one in rulings if one.message)
        halves = frozenset(map(_half, filter(_matters, rulings)))
        found.append(
            Judged(worst(said) if said else None, "host", findings, halves, (), _why(asked))
        )
    return found[0] if target.nvjitlink is None else over(target.nvjitlink, found)


def _requirements(host: Host) -> Iterator[Requirement]:
    for rule in RULES:
        if rule.of_host is not None:
            yield from rule.of_host(host)


def _says(ruling: Ruling) -> bool:
    """Whether a ruling is a verdict, rather than a remark that holds on any target."""
    return ruling.verdict is not Verdict.OK or ruling.requirement.axis is not Axis.NONE


def _half(ruling: Ruling) -> str:
    return "link" if ruling.requirement.axis is Axis.LINKER else "load"


def _matters(ruling: Ruling) -> bool:
    """Whether an unjudged ruling leaves a half open; NVRTC's builtins are neither half."""
    return ruling.verdict is None and ruling.requirement.axis is not Axis.NVRTC


def _why(asked: tuple[Requirement, ...]) -> str:
    held = "; ".join(f"{one.subject}: {one.axis} {one.constraint} ({one.rule})" for one in asked)
    return f"the host file asks: {held}"
