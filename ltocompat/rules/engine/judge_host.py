"""The verdict on a host file: on the symbols that it imports and the libraries that it needs."""

from __future__ import annotations

from ltocompat.model.image import Host
from ltocompat.model.target import Gpu, Target
from ltocompat.model.verdict import Verdict, worst
from ltocompat.rules.catalogue import requirements_of_host
from ltocompat.rules.engine.evaluate import Evaluation, evaluate
from ltocompat.rules.engine.findings import finding_of
from ltocompat.rules.engine.module_verdict import ModuleVerdict
from ltocompat.rules.rule import Component, Requirement


def judge_host(host: Host, target: Target, gpu: Gpu | None) -> ModuleVerdict | None:
    """What rules say of a host file on a target; None where they have nothing to say."""
    requirements = requirements_of_host(host)
    if not requirements:
        return None
    linker = target.nvjitlink.value if target.nvjitlink else None
    rulings = [evaluate(requirement, target, gpu, linker) for requirement in requirements]
    return ModuleVerdict(
        worst(each.verdict for each in rulings if each.verdict is not None and _says(each)),
        "host",
        tuple(finding_of(ruling) for ruling in rulings if ruling.message),
        frozenset(map(_half, filter(_matters, rulings))),
        why=_why(requirements),
    )


def _says(ruling: Evaluation) -> bool:
    """Whether a ruling is a verdict, rather than a remark that holds on any target."""
    return ruling.verdict is not Verdict.OK or ruling.requirement.component is not Component.NONE


def _half(ruling: Evaluation) -> str:
    return "link" if ruling.requirement.component is Component.LINKER else "load"


def _matters(ruling: Evaluation) -> bool:
    """Whether an unjudged ruling leaves a half open; NVRTC's builtins are neither half."""
    return ruling.verdict is None and ruling.requirement.component is not Component.NVRTC


def _why(requirements: tuple[Requirement, ...]) -> str:
    held = "; ".join(f"{r.subject}: {r.component} {r.constraint} ({r.rule})" for r in requirements)
    return f"the host file asks: {held}"
