"""One requirement held against what a target says of its axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ltocompat.facts import compat, drivers
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion, Gpu, Known, Target
from ltocompat.model.verdict import Verdict, worst
from ltocompat.rules.rule import Axis, CompatUse, Requirement


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a target makes of a requirement.

    Attributes:
        requirement: the requirement.
        verdict: None where the target says nothing of its axis.
        message: one sentence; empty where all is well and nothing is to be noted.
    """

    requirement: Requirement
    verdict: Verdict | None
    message: str = ""


def evaluate(
    requirement: Requirement, target: Target, gpu: Gpu | None, linker: Release | None
) -> Ruling:
    """Hold a requirement against a target.

    Args:
        requirement: what is asked.
        target: where the code is going.
        gpu: the GPU; None where the target names none.
        linker: the release of the linker at hand, which is one of those that the target allows.
    """
    known = _KNOWN[requirement.axis](target, gpu, linker)
    if known is None:
        in_play = requirement.axis is not Axis.COMPAT
        return Ruling(requirement, None if in_play else Verdict.OK)
    judged = [(value, requirement.constraint.judge(value)) for value in known.values]
    verdicts = {verdict for _, verdict in judged}
    verdict = worst(verdicts)
    value = next(value for value, said in judged if said is verdict)
    if len(verdicts) > 1 and not known.every:
        verdict = Verdict.UNKNOWN
        return Ruling(requirement, verdict, _split(requirement, known, judged))
    if verdict is not Verdict.OK:
        return Ruling(requirement, verdict, _sentence(requirement, verdict, value))
    noted = any(requirement.constraint.noted(one) for one in known.values)
    return Ruling(requirement, verdict, _remark(requirement) if noted else "")


def _sentence(requirement: Requirement, verdict: Verdict, value: object) -> str:
    if requirement.axis in (Axis.NONE, Axis.COMPAT, Axis.OPTIONS):
        return _remark(requirement)
    axis = requirement.axis
    if verdict is Verdict.UNDOCUMENTED:
        return f"{requirement.subject} with {axis} {value}: {requirement.consequence}"
    needs = "needs" if verdict is Verdict.FAIL else "may need"
    said = requirement.consequence
    if verdict is Verdict.UNKNOWN and requirement.doubt:
        said = requirement.doubt
    asked = f"{requirement.subject} {needs} {axis} {requirement.constraint}"
    return f"{asked}; the target has {value}: {said}"


def _remark(requirement: Requirement) -> str:
    return f"{requirement.subject}: {requirement.consequence}"


def _split(
    requirement: Requirement, known: Known[Any], judged: list[tuple[object, Verdict]]
) -> str:
    """The sentence for a version that was given in part, when the missing digits decide."""
    most = max(verdict for _, verdict in judged)
    bad = next(value for value, verdict in judged if verdict is most)
    return (
        f"{requirement.subject} needs {requirement.axis} {requirement.constraint}; the target's "
        f"{known.text} can be {judged[0][0]} or {judged[-1][0]}, and {bad} would "
        f"{'fail' if most is Verdict.FAIL else 'be ' + str(most)}: give the full version"
    )


def user_driver(target: Target) -> Known[DriverVersion] | None:
    """The user-mode driver that programs meet: that of cuda-compat, where one is in front."""
    if target.compat is None:
        return target.driver
    found = [(package, compat.compat_branch(package)) for package in target.compat.values]
    if any(branch is None for _, branch in found):
        return None
    values = tuple(
        DriverVersion(drivers.first_production(branch).numbers, f"{branch} (cuda-compat {package})")
        for package, branch in found
        if branch is not None
    )
    return Known(target.compat.text, values, target.compat.every, target.compat.source)


def _driver(target: Target, _: Gpu | None, __: Release | None) -> Known[Any] | None:
    return user_driver(target)


def _kernel(target: Target, gpu: Gpu | None, _: Release | None) -> Known[Any] | None:
    return None if gpu is None else target.driver


def _linker(_: Target, __: Gpu | None, linker: Release | None) -> Known[Any] | None:
    return None if linker is None else Known(str(linker), (linker,), every=True, source="")


def _nvrtc(target: Target, _: Gpu | None, __: Release | None) -> Known[Any] | None:
    return target.nvrtc


def _compat(target: Target, gpu: Gpu | None, _: Release | None) -> Known[Any] | None:
    if target.compat is None or gpu is None:
        return None
    kernels = target.driver.values if target.driver else (None,)
    values = tuple(
        CompatUse(package, kernel, gpu, target.system.name)
        for package in target.compat.values
        for kernel in kernels
    )
    every = target.compat.every and (target.driver is None or target.driver.every)
    return Known(target.compat.text, values, every, target.compat.source)


def _nothing(_: Target, __: Gpu | None, ___: Release | None) -> Known[Any] | None:
    return Known("", (None,), every=True, source="")


_KNOWN: dict[Axis, Callable[[Target, Gpu | None, Release | None], Known[Any] | None]] = {
    Axis.DRIVER: _driver,
    Axis.KERNEL: _kernel,
    Axis.LINKER: _linker,
    Axis.NVRTC: _nvrtc,
    Axis.COMPAT: _compat,
    Axis.OPTIONS: _nothing,
    Axis.NONE: _nothing,
}
