"""The least versions with which an artifact passes: ``check`` itself, asked version by version.

``require`` is the inverse of ``check`` because it asks nothing else: whatever a rule, a pick or a
fold comes to say, the floor moves with it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic

from ltocompat.facts import drivers, nvjitlink_minors
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, own_linker
from ltocompat.model.target import DriverVersion, Gpu, Quantifier, Target, VersionSet
from ltocompat.model.verdict import Finding, Result, Route, Verdict, worst
from ltocompat.rules.catalogue import requirements_of_host
from ltocompat.rules.engine.driver_classes import Answers, answers_to, constraints_on_drivers
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.rules.engine.judge_module import ways
from ltocompat.rules.rule import Component, Constraint, VersionT

_SOURCE = "require"


@dataclass(frozen=True, slots=True)
class Floor(Generic[VersionT]):
    """The least version of one part of a target.

    Attributes:
        first: it and newer ones, up to ``last``, do as well as any version does.
        last: the newest that does.
        possible: the oldest from which on no version up to ``first`` is known to fail.
        verdict: what any of them comes to, apart from what no version changes.
        set_by: the rules that object to the version before ``first``.
    """

    first: VersionT
    last: VersionT
    possible: VersionT
    verdict: Verdict
    set_by: tuple[str, ...]


def newest_run(
    versions: Sequence[VersionT],
    judged: Callable[[VersionT], Result],
    fixed: Callable[[Finding], bool],
) -> Floor[VersionT] | None:
    """The newest versions side by side that do as well as any; None where all fail.

    A version with which nothing is for the GPU comes after every one that serves it and does not
    fail, whatever bytes that nobody could read leave open.

    Args:
        versions: oldest first.
        judged: what ``check`` says of one.
        fixed: whether a finding is about something else, so that no version cures it. What is said
            at every version is left out as well.
    """

    def verdict(index: int) -> Verdict:
        result = judged(versions[index])
        if serves and not result.coverage.served:
            return Verdict.FAIL
        left = (f for f in result.findings if not fixed(f))
        return worst(f.verdict for f in left if _key(f) not in constant)

    constant: frozenset[tuple[str, Verdict, str]] = frozenset()
    serves: bool = any(_serves(judged(version)) for version in versions)
    if any(f.verdict is Verdict.FAIL and fixed(f) for f in judged(versions[-1]).findings):
        return None
    newest_first = range(len(versions))[::-1]
    last = next((n for n in newest_first if verdict(n) <= Verdict.JIT), None)
    limit = Verdict.JIT
    if last is None:
        found = [frozenset(map(_key, judged(version).findings)) for version in versions]
        constant = frozenset.intersection(*found)
        limit = max(limit, min(map(verdict, newest_first)))
        if Verdict.FAIL in (limit, *(verdict_ for _, verdict_, _ in constant)):
            return None
        last = next(n for n in newest_first if verdict(n) <= limit)
    first = next((n + 1 for n in range(last)[::-1] if verdict(n) > limit), 0)
    possible = next((n + 1 for n in range(first)[::-1] if verdict(n) > Verdict.UNKNOWN), 0)
    objections = judged(versions[first - 1]).findings if first else ()
    set_by = {
        f.rule for f in objections if f.verdict > limit and not fixed(f) and _key(f) not in constant
    }
    return Floor(versions[first], versions[last], versions[possible], limit, tuple(sorted(set_by)))


def _serves(result: Result) -> bool:
    """Whether something gets onto the GPU, and nothing fails."""
    return result.coverage.served > 0 and result.verdict < Verdict.FAIL


def _key(finding: Finding) -> tuple[str, Verdict, str]:
    """What says the same of every version; messages name the version."""
    return (finding.rule, finding.verdict, finding.evidence)


class Checked:
    """What ``check`` says of an artifact on any driver, nvJitLink and GPU; remembered.

    Args:
        summary: the artifact.
    """

    def __init__(self, summary: ArtifactSummary) -> None:
        self._summary = summary
        self._kept: dict[tuple[object, ...], dict[Route | None, Result]] = {}
        self._asked: dict[tuple[str, Release], tuple[Constraint, ...]] = {}
        self._linker_decides = _linker_decides(summary)

    def lines(
        self, gpu: Gpu, driver: DriverVersion | None, linker: Release
    ) -> dict[Route | None, Result]:
        """The verdict of each route; under None, where every module has but one."""
        if not self._linker_decides:
            linker = linkers()[-1]
        # What is wanted is verdicts, rules and coverage; only messages name the driver.
        key = (gpu.name, self._class_of(gpu, driver, linker), linker)
        if key not in self._kept:
            target = Target(
                name=_SOURCE, driver=_only(driver), nvjitlink=_only(linker), gpus=(gpu,)
            )
            found = results(self._summary, target)
            self._kept[key] = {result.route: result for result in found}
        return self._kept[key]

    def _class_of(self, gpu: Gpu, driver: DriverVersion | None, linker: Release) -> Answers | None:
        """What is the same of all drivers that no rule tells apart; None where none is given."""
        if driver is None:
            return None
        if (gpu.name, linker) not in self._asked:
            own = own_linker(self._summary)
            used = Release.parse(own.version) if own is not None and own.version else linker
            self._asked[gpu.name, linker] = constraints_on_drivers(self._summary, gpu, used)
        return answers_to(self._asked[gpu.name, linker], driver)


@dataclass(frozen=True, slots=True)
class LineFloors:
    """The floors of one line of ``check``: a GPU and a route.

    Attributes:
        route: the route; None where every module has but one.
        linker: the least nvJitLink; None where none is asked for, or every one fails.
        driver: the least driver with that nvJitLink; None where every one fails.
        result: the verdict there; where every version fails, that of the newest.
    """

    route: Route | None
    linker: Floor[Release] | None
    driver: Floor[DriverVersion] | None
    result: Result


def line_floors(checked: Checked, gpu: Gpu, *, asks_linker: bool) -> Iterator[LineFloors]:
    """The floors of every line that ``check`` has for a GPU.

    Args:
        checked: the artifact.
        gpu: the GPU.
        asks_linker: a host file asks for an nvJitLink, whatever way the device code goes.
    """
    for route, newest in checked.lines(gpu, None, linkers()[-1]).items():
        served, linked = _coverage(checked, gpu, route)
        if not asks_linker and not served:
            yield LineFloors(route, None, None, newest)
            continue
        if route is Route.LOAD and not asks_linker:
            yield _with_linker(checked, gpu, route, None)
            continue

        def judged(release: Release, route: Route | None = route) -> Result:
            return checked.lines(gpu, None, release)[route]

        linker = newest_run(linkers(), judged, lambda _: False)
        if linker is None:
            yield LineFloors(route, None, None, newest)
            continue
        found = _with_linker(checked, gpu, route, linker)
        yield found if asks_linker or linked else replace(found, linker=None)


def _with_linker(
    checked: Checked, gpu: Gpu, route: Route | None, linker: Floor[Release] | None
) -> LineFloors:
    """The floors of one line, with the least nvJitLink as it is."""
    used = linker.first if linker else linkers()[-1]

    def judged(driver: DriverVersion) -> Result:
        return checked.lines(gpu, driver, used)[route]

    driver = newest_run(driver_releases(), judged, lambda finding: not finding.about_loading)
    at = driver.first if driver else driver_releases()[-1]
    return LineFloors(route, linker, driver, judged(at))


def _coverage(checked: Checked, gpu: Gpu, route: Route | None) -> tuple[int, int]:
    """How many modules some linker makes serve, and how many it links.

    What a linker picks differs from release to release: the first two link bare LTO-IR for GPUs
    older than it, and later ones don't.
    """
    found = [checked.lines(gpu, None, release)[route].coverage for release in linkers()]
    return max(each.served for each in found), max(each.link for each in found)


def _linker_decides(summary: ArtifactSummary) -> bool:
    """Whether a target's nvJitLink can change a verdict: a module is linked, or a host file asks.

    What an artifact brings itself links, whatever the target has.
    """
    own = own_linker(summary)
    if own is not None and own.version:
        return False
    return (
        summary.one_link
        or any(Route.LINK in ways(group.signature) for group in summary.groups)
        or any(
            requirement.component is Component.LINKER
            for host in summary.hosts
            for requirement in requirements_of_host(host)
        )
    )


@functools.cache
def driver_releases() -> tuple[DriverVersion, ...]:
    """The first driver of every branch: what rules ask for begins there."""
    return tuple(map(drivers.first_production, drivers.driver_branches()))


@functools.cache
def linkers() -> tuple[Release, ...]:
    """Every nvJitLink, oldest first."""
    return tuple(sorted(nvjitlink_minors()))


def _only(version: VersionT | None) -> VersionSet[VersionT] | None:
    if version is None:
        return None
    return VersionSet(str(version), (version,), Quantifier.ALL, _SOURCE)
