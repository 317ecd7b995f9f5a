"""A requirement is held against a target, which gives a ruling."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.facts import drivers
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion, Gpu, Target
from ltocompat.model.verdict import LONGEST_HEADLINE, THE_TARGET_HAS, Verdict
from ltocompat.rules.rule import OF_DRIVERS, CompatUse, Component, Requirement

Values = Mapping[Component, DriverVersion | Release | CompatUse | None]
_DRIVER = re.compile(r"\b[0-9]{3}(?:\.[0-9]+)+")
_CLAUSE_END = re.compile(r": |; | \(|, (?:or|so|which|and) ")


class Ruling(Struct, frozen=True, cache_hash=True, gc=False):
    """The verdict on one requirement on one target.

    Attributes:
        requirement: the requirement.
        verdict: None if the target doesn't name its component.
        message: one sentence; empty if it is met without a note.
        headline: the message in a few words, with the values.
    """

    requirement: Requirement
    verdict: Verdict | None
    message: str = ""
    headline: str = ""


def evaluate(
    requirement: Requirement, values: Values, *, offline: bool = False, windows: bool = False
) -> Ruling:
    """Evaluate a requirement on a target.

    Args:
        requirement: the requirement.
        values: the values of the target, see ``values_of``.
        offline: True if its linker is nvlink.
        windows: True if its driver is that of Windows.
    """
    verdict, value = verdict_on(requirement, values), values.get(requirement.component)
    if verdict is None:
        return Ruling(requirement, None)
    if verdict is not Verdict.OK:
        texts = _sentences(requirement, verdict, str(value), offline=offline, windows=windows)
        return Ruling(requirement, verdict, *texts)
    noted = requirement.constraint.noted(value)
    return Ruling(requirement, verdict, *(_remark(requirement) if noted else ()))


def verdict_on(requirement: Requirement, values: Values) -> Verdict | None:
    """Return the verdict on a requirement; None if the target doesn't name its component."""
    component = requirement.component
    value = values.get(component)
    if value is None and component not in (Component.NONE, Component.OPTIONS):
        return Verdict.OK if component is Component.COMPAT else None
    return requirement.constraint.judge(value)


def _sentences(
    requirement: Requirement, verdict: Verdict, value: str, *, offline: bool, windows: bool
) -> tuple[str, str]:
    """The sentence about a value that doesn't meet a requirement, and its headline."""
    doubt = requirement.text("doubt") if verdict is Verdict.UNKNOWN else ""
    if requirement.component in (Component.NONE, Component.COMPAT, Component.OPTIONS):
        return _remark(requirement)
    if not requirement.constraint.weighs_values:
        return _remark(replace(requirement, consequence=doubt) if doubt else requirement)
    nvlink = offline and requirement.component is Component.LINKER
    component = "nvlink" if nvlink else str(requirement.component)
    if verdict is Verdict.UNDOCUMENTED:
        opening = f"{requirement.subject} with {component} {value}"
        return _joined(opening, requirement.text("consequence"), requirement.short)
    needs = "needs" if verdict is Verdict.FAIL else "may need"
    text = doubt or requirement.text("consequence")
    versions = str(requirement.constraint)
    if windows and requirement.component in OF_DRIVERS:
        versions = _DRIVER.sub(lambda driver: drivers.windows_driver(driver[0]), versions)
    demand = f"{requirement.subject} {needs} {component} {versions}"
    headline = f"{demand}; {THE_TARGET_HAS} {value}"
    return f"{headline}: {text}", headline


def _remark(requirement: Requirement) -> tuple[str, str]:
    return _joined(requirement.subject, requirement.text("consequence"), requirement.short)


def _joined(subject: str, consequence: str, short: str) -> tuple[str, str]:
    """The sentence; and its headline, which is never the subject alone."""
    whole = f"{subject}: {consequence}"
    if not short and len(whole) > LONGEST_HEADLINE:
        short = _CLAUSE_END.split(consequence, maxsplit=1)[0]
    return whole, f"{subject}: {short}" if short else ""


def values_of(target: Target, gpu: Gpu | None, linker: Release | None) -> Values:
    """Return the values of a target by component; None, or no entry, if it doesn't name one.

    Args:
        target: the target, with at most one version of each part.
        gpu: the GPU; None if the target names none.
        linker: the release of the linker; None if unknown.
    """
    kernel = target.driver.value if target.driver else None
    compat = target.compat.value if target.compat else None
    use = CompatUse(compat, kernel, gpu, target.system.name) if compat and gpu else None
    return {
        Component.DRIVER: kernel if compat is None else _driver_of_compat(compat),
        Component.KERNEL: None if gpu is None else kernel,
        Component.LINKER: linker,
        Component.NVRTC: target.nvrtc.value if target.nvrtc else None,
        Component.COMPAT: use,
    }


def _driver_of_compat(package: Release) -> DriverVersion | None:
    """The user-mode driver that programs meet where cuda-compat is in front."""
    branch = drivers.cuda_branch(package)
    if branch is None:
        return None
    first = drivers.first_production(branch).numbers
    return DriverVersion(first, f"{branch} (cuda-compat {package})")
