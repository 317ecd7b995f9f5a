"""The minimum versions with which an artifact passes: ``check`` itself, asked version by version.

``require`` is the inverse of ``check`` because it asks nothing else: whatever a rule, a pick or a
fold comes to say, the floor moves with it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Generic

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.facts import drivers, nvjitlink_minors
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, variant_parts
from ltocompat.model.target import DriverVersion, Gpu, Target, VersionSet, exactly
from ltocompat.model.verdict import Result, Route, Verdict
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.judge_artifact import ArtifactJudge
from ltocompat.rules.engine.target_classes import TargetClasses
from ltocompat.rules.rule import VersionT

_SOURCE = "require"
_NO = Verdict.OK  # where nothing is objected to


class Floor(Struct, Generic[VersionT], frozen=True):
    """The minimum version of one part of a target.

    Attributes:
        first: the first of the versions up to ``last`` with the best verdict.
        last: the newest such version.
        possible: the oldest version from which on no version up to ``first`` surely fails.
        verdict: their verdict, apart from findings that no version changes.
        set_by: the rules that object to the version before ``first``.
        or_older: True if the tables begin with ``first``, and an older one doesn't surely fail.
    """

    first: VersionT
    last: VersionT
    possible: VersionT
    verdict: Verdict
    set_by: tuple[str, ...]
    or_older: bool = False


class Objection(Struct, frozen=True):
    """A finding that keeps a verdict from ``ok``, without its text, which names the version."""

    rule: str
    verdict: Verdict
    evidence: str
    about_loading: bool


class Line(Struct, frozen=True):
    """A line of ``check``: its result, whose text may name other versions, and its objections."""

    result: Result
    objections: frozenset[Objection]

    @property
    def serves(self) -> bool:
        """Return whether some code gets onto the GPU."""
        return self.result.coverage.served > 0


_ByRoute = dict[Route | None, Line]


def newest_passing_range(
    versions: Sequence[VersionT], lines: Sequence[Line], fixed: Callable[[Objection], bool]
) -> Floor[VersionT] | None:
    """Return the newest consecutive versions with the best verdict; None if all fail.

    A version without code for the GPU is worse than every one that serves it and does not fail,
    even if unread bytes may have code.

    Args:
        versions: the versions, oldest first.
        lines: the answer of ``check`` for each.
        fixed: returns whether an objection is about something else, so that no version fixes it.
            Objections at every version are also left out.
    """
    if any(each.verdict is Verdict.FAIL and fixed(each) for each in lines[-1].objections):
        return None
    served = any(line.serves and line.result.verdict < Verdict.FAIL for line in lines)

    def verdicts(without: frozenset[Objection]) -> list[Verdict]:
        return [
            Verdict.FAIL
            if served and not line.serves
            else max((o.verdict for o in line.objections - without if not fixed(o)), default=_NO)
            for line in lines
        ]

    constant: frozenset[Objection] = frozenset()
    limit = Verdict.JIT
    found = verdicts(constant)
    if min(found) > limit:
        constant = frozenset.intersection(*(line.objections for line in lines))
        found = verdicts(constant)
        limit = max(limit, min(found))
        if Verdict.FAIL in (limit, *(each.verdict for each in constant)):
            return None
    last = next(n for n in range(len(versions))[::-1] if found[n] <= limit)
    first = next((n + 1 for n in range(last)[::-1] if found[n] > limit), 0)
    possible = next((n + 1 for n in range(first)[::-1] if found[n] > Verdict.UNKNOWN), 0)
    objections = lines[first - 1].objections - constant if first else ()
    set_by = {each.rule for each in objections if each.verdict > limit and not fixed(each)}
    return Floor(versions[first], versions[last], versions[possible], limit, tuple(sorted(set_by)))


class Checked:
    """The verdicts of ``check`` on any driver, nvJitLink and GPU, each computed once.

    Args:
        summary: the artifact.
        engine: the memory of judging.
    """

    def __init__(self, summary: ArtifactSummary, engine: Engine) -> None:
        self._artifact = ArtifactJudge(summary, engine, advises=False)
        used = [parts.used for parts in variant_parts(summary)] or [summary]
        self._classes = tuple(TargetClasses(each, engine) for each in used)
        self._starts_on = bool(summary.starts_on)
        self._kept: dict[Hashable, _ByRoute] = {}

    def lines(self, gpu: Gpu, driver: DriverVersion | None, linker: Release) -> _ByRoute:
        """Return the verdict of each route; under None, if every module has only one."""
        # What is wanted is verdicts, rules and coverage; only messages name the target.
        key: Hashable = tuple(classes.of(gpu, driver, linker) for classes in self._classes)
        key = (key, driver) if self._starts_on else key
        if key not in self._kept:
            target = Target(
                name=_SOURCE, driver=_only(driver), nvjitlink=_only(linker), gpus=(gpu,)
            )
            found = list(self._artifact.results(target))
            self._kept[key] = {result.route: _line(result) for result in found}
        return self._kept[key]


def _line(result: Result) -> Line:
    return Line(
        result,
        frozenset(
            Objection(finding.rule, finding.verdict, finding.evidence, finding.about_loading)
            for finding in result.findings
            if finding.verdict is not Verdict.OK
        ),
    )


class LineFloors(Struct, frozen=True):
    """The floors of one line of ``check``: a GPU and a route.

    Attributes:
        route: the route; None if every module has but one.
        linker: the minimum nvJitLink; None if none is needed, or every one fails.
        driver: the minimum driver with that nvJitLink; None if every one fails.
        result: the verdict there; if every version fails, the verdict of the newest.
    """

    route: Route | None
    linker: Floor[Release] | None
    driver: Floor[DriverVersion] | None
    result: Result


def line_floors(checked: Checked, gpu: Gpu, *, asks_linker: bool) -> Iterator[LineFloors]:
    """Yield the floors of every line of ``check`` for a GPU.

    Args:
        checked: the artifact.
        gpu: the GPU.
        asks_linker: True if a host file needs an nvJitLink, on any route.
    """
    for route, newest in checked.lines(gpu, None, nvjitlink_minors()[-1]).items():
        # What a linker picks differs from release to release: the first two link bare LTO-IR for
        # GPUs older than it, and later ones don't.
        lines = [checked.lines(gpu, None, release)[route] for release in nvjitlink_minors()]
        served, linker = any(line.serves for line in lines), None
        links = asks_linker or (served and route is not Route.LOAD)
        if links:
            linker = newest_passing_range(nvjitlink_minors(), lines, lambda _: False)
        idle = newest.result.coverage.idle
        if linker is None and (links or not (served or idle)):
            yield LineFloors(route, None, None, newest.result)
            continue
        used = linker.first if linker else nvjitlink_minors()[-1]
        driver = _driver_floor(checked, gpu, route, used)
        before = checked.lines(gpu, drivers.before_tables(), used)[route]
        if idle and not any(each.about_loading for each in before.objections):
            driver = None  # any will do
        at = driver.first if driver else drivers.production_drivers()[-1]
        result = checked.lines(gpu, at, used)[route].result
        # What is newer than all that fail may pass with nothing for the GPU: no floor for it.
        linked = result.coverage.served and any(line.result.coverage.link for line in lines)
        yield LineFloors(route, linker if asks_linker or linked else None, driver, result)


def _driver_floor(
    checked: Checked, gpu: Gpu, route: Route | None, linker: Release
) -> Floor[DriverVersion] | None:
    """The minimum driver of one line with an nvJitLink; None if every one fails."""
    known = drivers.production_drivers()
    tables = list(map(functools.partial(checked.lines, gpu, linker=linker), known))
    lines = [table[route] for table in tables]
    found = newest_passing_range(known, lines, lambda each: not each.about_loading)
    if found is None or found.first != known[0]:
        return found
    earlier = sorted(drivers.earlier_drivers().values())
    before = [checked.lines(gpu, each, linker)[route] for each in earlier]
    exact = newest_passing_range(
        (*earlier, *known), (*before, *lines), lambda each: not each.about_loading
    )
    if exact is not None and earlier[0] < exact.first < known[0]:
        return exact
    older = checked.lines(gpu, drivers.before_tables(), linker)[route]
    return replace(found, or_older=older.result.verdict < Verdict.FAIL)


def asked_linkers(gpus: Iterable[Sequence[LineFloors]]) -> Iterator[Floor[Release]]:
    """Yield the floors of nvJitLinks for GPUs: the highest of each GPU's lines that can pass."""
    for lines in gpus:
        able = [line for line in lines if line.driver is not None] or lines
        if floors := [line.linker for line in able if line.linker is not None]:
            yield max(floors, key=lambda floor: floor.first)


class JointFloors(Struct, frozen=True):
    """The versions with which every line of a GPU passes that can pass.

    Attributes:
        driver, last_driver: the minimum driver, and the newest.
        linker, last_linker: the minimum nvJitLink, and the newest; None if none is needed.
        or_older: True if a driver before all tables doesn't surely fail.
    """

    driver: DriverVersion
    last_driver: DriverVersion
    linker: Release | None
    last_linker: Release | None
    or_older: bool


def joint_floors(
    checked: Checked, gpu: Gpu, lines: Iterable[LineFloors], wanted: Release | None
) -> JointFloors | None:
    """Return the floors of several lines together; None if no target can meet them.

    Args:
        checked: the artifact.
        gpu: the GPU.
        lines: the floors of each of its lines.
        wanted: a newer nvJitLink than the minimum, with which the driver also has to work.
    """
    able = [line for line in lines if line.driver is not None]
    asked = [line.linker for line in able if line.linker is not None]
    first = max((floor.first for floor in asked), default=nvjitlink_minors()[-1])
    last = min((floor.last for floor in asked), default=nvjitlink_minors()[-1])
    # What a linker makes needs another driver than what the next major makes.
    used = {first, wanted if wanted is not None and first <= wanted <= last else first}
    found = [_driver_floor(checked, gpu, line.route, each) for line in able for each in used]
    floors = [floor for floor in found if floor is not None]
    if not floors or len(floors) < len(found) or first > last:
        return None
    driver, last_driver = max(f.first for f in floors), min(f.last for f in floors)
    if driver > last_driver:
        return None
    return JointFloors(
        driver,
        last_driver,
        first if asked else None,
        last if asked else None,
        all(floor.or_older for floor in floors),
    )


def _only(version: VersionT | None) -> VersionSet[VersionT] | None:
    return None if version is None else exactly(version, _SOURCE)
