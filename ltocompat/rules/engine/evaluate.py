"""One requirement held against what a target says of its component."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.facts import drivers
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion, Gpu, Quantifier, Target, VersionSet
from ltocompat.model.verdict import THE_TARGET_HAS, Verdict, worst
from ltocompat.rules.rule import CompatUse, Component, Requirement


class Evaluation(Struct, frozen=True, cache_hash=True, gc=False):
    """What a target makes of a requirement.

    Attributes:
        requirement: the requirement.
        verdict: None where the target says nothing of its component.
        message: one sentence; empty where all is well and nothing is to be noted.
        headline: the same in a few words, with the values.
    """

    requirement: Requirement
    verdict: Verdict | None
    message: str = ""
    headline: str = ""


def evaluate(
    requirement: Requirement,
    target: Target,
    gpu: Gpu | None,
    linker: Release | None,
    *,
    offline: bool = False,
) -> Evaluation:
    """Hold a requirement against a target.

    Args:
        requirement: what is asked.
        target: where the code is going.
        gpu: the GPU; None where the target names none.
        linker: the release of the linker at hand, which is one of those that the target allows.
        offline: it is nvlink.
    """
    known = _KNOWN[requirement.component](target, gpu, linker)
    if known is None:
        in_play = requirement.component is not Component.COMPAT
        return Evaluation(requirement, None if in_play else Verdict.OK)
    return _held(requirement, known, offline)


@functools.lru_cache(maxsize=8192)  # code for many GPUs asks the same of their one driver
def _held(
    requirement: Requirement,
    known: VersionSet[Any],
    offline: bool,  # noqa: FBT001 - a key of the cache
) -> Evaluation:
    """Hold a requirement against all that its component can be."""
    judged = [(value, requirement.constraint.judge(value)) for value in known.values]
    verdicts = {verdict for _, verdict in judged}
    verdict = worst(verdicts)
    value = next(value for value, each_verdict in judged if each_verdict is verdict)
    if len(verdicts) > 1 and not known.every:
        return Evaluation(requirement, Verdict.UNKNOWN, *_split(requirement, known, judged))
    if verdict is not Verdict.OK:
        texts = _sentences(requirement, verdict, value, offline=offline)
        return Evaluation(requirement, verdict, *texts)
    noted = any(requirement.constraint.noted(each_value) for each_value in known.values)
    return Evaluation(requirement, verdict, *(_remark(requirement) if noted else ()))


def _sentences(
    requirement: Requirement, verdict: Verdict, value: object, *, offline: bool
) -> tuple[str, str]:
    """What a value makes of a requirement: the sentence, and its headline."""
    doubt = requirement.doubt if verdict is Verdict.UNKNOWN else ""
    if requirement.component in (Component.NONE, Component.COMPAT, Component.OPTIONS):
        return _remark(requirement)
    if not requirement.constraint.weighs_values:
        return _remark(replace(requirement, consequence=doubt) if doubt else requirement)
    nvlink = offline and requirement.component is Component.LINKER
    component = "nvlink" if nvlink else str(requirement.component)
    if verdict is Verdict.UNDOCUMENTED:
        opening = f"{requirement.subject} with {component} {value}"
        return _joined(opening, requirement.consequence, requirement.short)
    needs = "needs" if verdict is Verdict.FAIL else "may need"
    text = doubt or requirement.consequence
    demand = f"{requirement.subject} {needs} {component} {requirement.constraint}"
    headline = f"{demand}; {THE_TARGET_HAS} {value}"
    return f"{headline}: {text}", headline


def _remark(requirement: Requirement) -> tuple[str, str]:
    return _joined(requirement.subject, requirement.consequence, requirement.short)


def _joined(subject: str, consequence: str, short: str) -> tuple[str, str]:
    return f"{subject}: {consequence}", f"{subject}: {short}" if short else ""


def _split(
    requirement: Requirement, known: VersionSet[Any], judged: list[tuple[object, Verdict]]
) -> tuple[str, str]:
    """The sentence for a version that was given in part, when the missing digits decide."""
    most = max(verdict for _, verdict in judged)
    bad = next(value for value, verdict in judged if verdict is most)
    demand = f"{requirement.subject} needs {requirement.component} {requirement.constraint}"
    between = f"{judged[0][0]} or {judged[-1][0]}"
    headline = f"{demand}; the target's {known.text} can be {between}"
    outcome = "fail" if most is Verdict.FAIL else f"be {most}"
    return f"{headline}, and {bad} would {outcome}: give the full version", headline


def user_driver(target: Target) -> VersionSet[DriverVersion] | None:
    """The user-mode driver that programs meet: that of cuda-compat, where one is in front."""
    if target.compat is None:
        return target.driver
    found = [(package, drivers.compat_branch(package)) for package in target.compat.values]
    if any(branch is None for _, branch in found):
        return None
    values = tuple(
        DriverVersion(drivers.first_production(branch).numbers, f"{branch} (cuda-compat {package})")
        for package, branch in found
        if branch is not None
    )
    return VersionSet(target.compat.text, values, target.compat.quantifier, target.compat.source)


def _driver(target: Target, _: Gpu | None, __: Release | None) -> VersionSet[Any] | None:
    return user_driver(target)


def _kernel(target: Target, gpu: Gpu | None, _: Release | None) -> VersionSet[Any] | None:
    return None if gpu is None else target.driver


def _linker(_: Target, __: Gpu | None, linker: Release | None) -> VersionSet[Any] | None:
    return None if linker is None else _only(linker)


@functools.lru_cache(maxsize=256)
def _only(linker: Release) -> VersionSet[Release]:
    return VersionSet(str(linker), (linker,), quantifier=Quantifier.ALL, source="")


def _nvrtc(target: Target, _: Gpu | None, __: Release | None) -> VersionSet[Any] | None:
    return target.nvrtc


def _compat(target: Target, gpu: Gpu | None, _: Release | None) -> VersionSet[Any] | None:
    if target.compat is None or gpu is None:
        return None
    kernels = target.driver.values if target.driver else (None,)
    values = tuple(
        CompatUse(package, kernel, gpu, target.system.name)
        for package in target.compat.values
        for kernel in kernels
    )
    every = target.compat.every and (target.driver is None or target.driver.every)
    quantifier = Quantifier.ALL if every else Quantifier.ONE_OF
    return VersionSet(target.compat.text, values, quantifier, target.compat.source)


def _nothing(_: Target, __: Gpu | None, ___: Release | None) -> VersionSet[Any] | None:
    return _NOTHING


_NOTHING: VersionSet[Any] = VersionSet("", (None,), quantifier=Quantifier.ALL, source="")

_KNOWN: dict[Component, Callable[[Target, Gpu | None, Release | None], VersionSet[Any] | None]] = {
    Component.DRIVER: _driver,
    Component.KERNEL: _kernel,
    Component.LINKER: _linker,
    Component.NVRTC: _nvrtc,
    Component.COMPAT: _compat,
    Component.OPTIONS: _nothing,
    Component.NONE: _nothing,
}
