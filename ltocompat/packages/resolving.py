"""Libraries of CUDA that a package depends on, through extras and metapackages."""

from __future__ import annotations

import functools
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.facts import rows
from ltocompat.facts.libraries import (
    conda_libraries,
    library_packages,
    toolkit_majors,
    toolkit_packages,
    without_libraries,
)
from ltocompat.facts.toolkits import ToolkitPin
from ltocompat.model.arch import Release
from ltocompat.model.generic import grouped
from ltocompat.model.limits import Budget
from ltocompat.model.target import System
from ltocompat.packages.values import Dependency, Kind, Package, in_environment, normalized
from ltocompat.targets.lock_tables import CONDA_TOOLKIT
from ltocompat.targets.systems import MarkerEnvironment
from ltocompat.targets.versions.packages import (
    Allowed,
    allowed,
    allowed_by_metapackage,
    allowed_by_toolkit,
    suffix_major,
)

_WHEELS = {
    "nvjitlink": re.compile(r"nvidia-nvjitlink(?:-cu[0-9][0-9])?"),
    "nvrtc": re.compile(r"nvidia-cuda-nvrtc(?:-cu[0-9][0-9])?"),
}
CONDA = {"nvjitlink": "libnvjitlink", "nvrtc": "cuda-nvrtc"}
# Every library of CUDA (conda-forge, recipes of the four: one leads to the other).
_CONDA_METAPACKAGES = ("cuda-libraries", "cuda-toolkit", "cuda-runtime", "cuda")
# A library of 12.4 depends on cuda-version 12.4 (conda-forge, recipe of libnvjitlink: max_pin x.x).
_TOOLKIT = "cuda-toolkit"
_MAY_BRING = re.compile(
    r"cuda|nvidia|cupy|torch|jax|tensorflow|tensorrt|numba|cuquantum|nvmath|rapids|gpu|runtime"
    r"|-libs?(?:-|$)|-cu1[0-9]"
)
_DEEPEST = 8
_EXTRA = re.compile(r"\bextra\b")
_IS_EXTRA = re.compile(
    r"""(?:["']([^"']*)["']\s*==\s*\bextra\b(?!\s*[=!<>~])|\bextra\s*==\s*["']([^"']*)["'])"""
)
STEP = " -> "


class Way(Struct, frozen=True):
    """One way on which a package gets to nvJitLink or NVRTC.

    Attributes:
        package: the package at its end.
        line: the line that it begins with, and what follows: ``Requires-Dist: cuda-toolkit[nvrtc]
            -> nvidia-cuda-nvrtc``.
        allowed: what it admits.
        extra: the extra that has to be asked for; None for none.
        only_limits: it installs nothing, it only says what may be installed.
    """

    package: str
    line: str
    allowed: Allowed
    extra: str | None = None
    only_limits: bool = False


def ways_to(
    part: str, package: Package, others: Sequence[Package] = (), budget: Budget | None = None
) -> tuple[Way, ...]:
    """Every way to a part.

    Args:
        part: ``nvjitlink`` or ``nvrtc``.
        package: the package to start with.
        others: packages at hand, whose metadata is followed.
        budget: what it may cost; None for the usual.

    Raises:
        LimitExceeded: the time is used up.
    """
    found = [
        way
        for reached in _walk(package, others, budget or Budget())
        for way in _ways_of(part, package.kind, reached)
    ]
    resolved: dict[str, Allowed | None] = {}
    for other in others:
        exact, before = _exactly(other.version), resolved.get(other.name)
        resolved[other.name] = exact | before if exact and before else exact
    there = in_environment(package, others)
    found = [
        replace(way, allowed=replace(exact, pinned=way.allowed.pinned))
        # PKG-12 speaks of what is given and not admitted; what is installed is a fact.
        if (exact := resolved.get(way.package)) and (there or exact.releases & way.allowed.releases)
        else way
        for way in found
        if way.package in resolved or not there
    ]
    found += [
        Way(name, f"{name} is installed", exact)
        for name, exact in resolved.items()
        if exact and _is_part(part, package.kind, name)
    ]
    limits = [
        allowed(part, CONDA_TOOLKIT, require.versions)
        for require in package.requires
        if package.kind is Kind.CONDA and require.name == CONDA_TOOLKIT
    ]
    return tuple(
        replace(way, allowed=reduce(Allowed.__and__, limits, way.allowed)) for way in found
    )


def _exactly(version: str) -> Allowed | None:
    """The one version that is installed; None for none that can be read."""
    match = re.match(r"([0-9]{1,3})\.([0-9]{1,3})(?=\.|$)", version)
    if match is None:
        return None
    return Allowed(frozenset({Release(int(match[1]), int(match[2]))}), later_major=False)


def together(ways: Iterable[Way]) -> tuple[Way, ...]:
    """One way for each package and extra: the most direct, with what all of them admit together.

    What is always installed also holds where an extra is asked for.
    """
    found: dict[tuple[str, str | None], Way] = {}
    for way in ways:
        before = found.get((way.package, way.extra), way)
        first = min(before, way, key=lambda one: (one.only_limits, one.line.count(STEP)))
        found[way.package, way.extra] = replace(first, allowed=before.allowed & way.allowed)
    always = {way.package: way.allowed for way in found.values() if way.extra is None}
    return tuple(
        replace(way, allowed=way.allowed & always[way.package])
        if way.extra is not None and way.package in always
        else way
        for way in found.values()
    )


@functools.cache
def come_with(name: str) -> tuple[str, ...]:
    """The packages of NVIDIA's that are installed wherever one of them is, as their metadata say.

    Which versions they ask of one another is left open: any of them brings the same file names.
    """
    found = [name]
    for package in found:  # which grows
        for row in library_packages().get(package, ()):
            for required in row.requires:
                others = dict.fromkeys(_required(required, package))
                found += [other for other in others if other not in found]
    return tuple(found[1:])


def _required(text: str, package: str) -> tuple[str, ...]:
    """``nvidia-cublas``, or what ``cuda-toolkit[nvrtc]`` of a package's own major leads to."""
    name, _, extras = text.rstrip("]").partition("[")
    if name != _TOOLKIT:
        return (name,)
    major = suffix_major(package) or toolkit_majors()[-1]
    return tuple(found for extra in extras.split(",") for found in toolkit_packages(major, extra))


def not_at_hand(
    package: Package, others: Sequence[Package] = (), budget: Budget | None = None
) -> tuple[str, ...]:
    """Dependencies that may bring a library of CUDA, but whose metadata is not known here.

    A list of names and versions alone says what is installed only where it has NVIDIA's packages.
    """
    budget = budget or Budget()
    whole = any(other.name in library_packages() for other in others)
    there = {other.name for other in others if whole or not other.only_named}
    known = there | library_packages().keys() | {_TOOLKIT, *CONDA.values()}
    environment = _environment(package)
    found = (
        each.name
        for source in (package, *others)
        for each in budget.timed(source.requires, slow=True)
        if not each.only_limits
        and environment.holds(each.marker)
        and each.name not in known
        and (each.asks or each.name not in without_libraries())
        and (_MAY_BRING.search("-".join((each.name, *each.asks))) or is_sibling(each.name, package))
    )
    return tuple(dict.fromkeys(found))


def is_sibling(name: str, package: Package) -> bool:
    """Return whether only the name of its project says that a dependency may bring a library."""
    project = package.name.partition("-")[0]  # foo-core's own has foo-base
    of_project = name.partition("-")[0] == project and len(project) > 2
    return of_project and not _MAY_BRING.search(name)


def _environment(package: Package) -> MarkerEnvironment:
    """Return the environment that markers see where the package is installed."""
    arm = any(text.endswith(("aarch64", "arm64")) for text in package.platforms)
    system = System("windows" if package.on_windows else "linux", "aarch64" if arm else "x86_64")
    return MarkerEnvironment.of(system, package.python)


class Lead(Struct, frozen=True):
    """A package of NVIDIA's libraries that the metadata of a package lead to.

    Attributes:
        package: its name.
        line: the line that it begins with, and what follows, as in ``Way``.
        versions: alternative specifiers on it; empty where another package brings it, whose own
            specifiers are not known.
        extra: the extra that has to be asked for; None for none.
        by_chance: it is installed, whether or not the metadata lead there.
    """

    package: str
    line: str
    versions: tuple[str, ...] = ()
    extra: str | None = None
    by_chance: bool = False


def leads(
    package: Package, others: Sequence[Package] = (), budget: Budget | None = None
) -> tuple[Lead, ...]:
    """Every package with libraries of CUDA that a package installs, each way once.

    Args:
        package: the package to start with.
        others: packages at hand, whose metadata is followed.
        budget: what it may cost; None for the usual.

    Raises:
        LimitExceeded: the time is used up.
    """
    of = _conda_leads_of if package.kind is Kind.CONDA else _leads_of
    found = [lead for reached in _walk(package, others, budget or Budget()) for lead in of(reached)]
    there = [other for other in others if other.name in library_packages()]
    resolved = grouped((other.name, f"=={other.version}") for other in there)
    found = [
        replace(lead, versions=tuple(resolved.get(lead.package, lead.versions)))
        for lead in found
        if lead.package in resolved or not in_environment(package, others)
    ]
    found += [
        Lead(name, f"{name} is installed", tuple(versions), by_chance=True)
        for name, versions in resolved.items()
    ]
    return tuple(dict.fromkeys(found))


def _leads_of(reached: _Reached) -> Iterator[Lead]:
    dependency, line, extra = reached.dependency, reached.line, reached.extra
    if dependency.name in library_packages():
        yield Lead(dependency.name, line, dependency.versions, extra)
        found = come_with(dependency.name)
    elif dependency.name == _TOOLKIT:
        found = tuple(
            name
            for major in _toolkit_majors_in(dependency.versions)
            for wanted in sorted(dependency.asks)
            for package in toolkit_packages(major, wanted)
            for name in (package, *come_with(package))
        )
    else:
        found = ()
    if not reached.followed:
        yield from (Lead(name, f"{line}{STEP}{name}", extra=extra) for name in found)


def _conda_leads_of(reached: _Reached) -> Iterator[Lead]:
    dependency, line = reached.dependency, reached.line
    if dependency.only_limits:
        return
    if dependency.name in conda_libraries():
        yield Lead(dependency.name, line, dependency.versions)
    elif dependency.name in _CONDA_METAPACKAGES and not reached.followed:
        yield from (Lead(name, f"{line}{STEP}{name}") for name in conda_libraries())


def _toolkit_majors_in(alternatives: tuple[str, ...]) -> Iterator[int]:
    """The majors of cuda-toolkit that specifiers admit."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    versions = {Version(pin.toolkit) for pin in rows(ToolkitPin)}
    for major in toolkit_majors():
        of_major = [version for version in versions if version.major == major]
        if any(SpecifierSet(text).contains(v) for text in alternatives for v in of_major):
            yield major


class _Reached(Struct, frozen=True):
    """A dependency of a package, or of one that it depends on.

    Attributes:
        dependency: what its line says.
        line: the line that it begins with, and what follows.
        extra: the extra of the first package that has to be asked for; None for none.
        followed: its package is at hand, so that its own dependencies are walked, too.
    """

    dependency: Dependency
    line: str
    extra: str | None
    followed: bool


def _walk(package: Package, others: Sequence[Package], budget: Budget) -> Iterator[_Reached]:
    """Every dependency that is installed, by each way to it, through packages at hand."""
    at_hand = {other.name: other for other in others}
    first = _installed(package, package.extras, budget)
    waiting = deque((dependency, dependency.line, extra, 0) for dependency, extra in first)
    while waiting:
        budget.check_time()
        dependency, line, extra, depth = waiting.popleft()
        other = at_hand.get(dependency.name)
        yield _Reached(dependency, line, extra, followed=other is not None)
        if other is not None and depth < _DEEPEST:
            behind = [found for found, _ in _installed(other, sorted(dependency.asks), budget)]
            for found in reversed(behind):
                without_key = found.line.partition(": ")[2] or found.line
                waiting.appendleft((found, f"{line}{STEP}{without_key}", extra, depth + 1))


def _installed(
    package: Package, extras: Iterable[str], budget: Budget
) -> Iterator[tuple[Dependency, str | None]]:
    """Yield the dependencies of a package, each with the extra that brings it, if any."""
    environment = _environment(package)
    order = {extra: number for number, extra in enumerate(dict.fromkeys(extras))}
    for require in package.requires:
        budget.check_time()
        if environment.holds(require.marker):
            yield require, None
            continue
        named = _extras_that_decide(require.marker)
        tried = order if named is None else sorted(named & order.keys(), key=order.__getitem__)
        for extra in budget.timed(tried, slow=True):
            if environment.with_extra(extra).holds(require.marker):
                yield require, extra


def dependencies_always(
    package: Package, budget: Budget, extras: Iterable[str] = ()
) -> Iterator[Dependency]:
    """Yield the dependencies that are installed with a package and with extras of it."""
    found = _installed(package, extras, budget)
    return (dependency for dependency, _ in found if not dependency.only_limits)


def extras_asked(there: Mapping[str, Package], budget: Budget) -> Mapping[str, frozenset[str]]:
    """Names that packages, and extras of them that are asked for, ask for -> the wanted extras."""
    asked: dict[str, frozenset[str]] = {}
    waiting = [(package, frozenset[str]()) for package in there.values()]
    while waiting:
        package, extras = waiting.pop()
        for dependency in dependencies_always(package, budget, extras):
            before = asked.get(dependency.name, frozenset())
            asked[dependency.name] = before | dependency.asks
            if dependency.name in there and not dependency.asks <= before:
                waiting.append((there[dependency.name], dependency.asks))
    return asked


@functools.lru_cache(maxsize=4096)
def _extras_that_decide(marker: str) -> frozenset[str] | None:
    """The extras that a marker compares with ``==``; None where it asks in another way.

    All others change nothing of it, so that hundreds of extras need not be tried one by one.
    """
    found = _IS_EXTRA.findall(marker)
    if len(found) < len(_EXTRA.findall(marker)):
        return None
    return frozenset(normalized(before or behind) for before, behind in found)


def _ways_of(part: str, kind: Kind, reached: _Reached) -> Iterator[Way]:
    """The ways to a part that begin with a dependency."""
    dependency, line, extra = reached.dependency, reached.line, reached.extra
    if _is_part(part, kind, dependency.name):
        admitted = allowed(part, dependency.name, dependency.versions)
        yield Way(dependency.name, line, admitted, extra, only_limits=dependency.only_limits)
    elif reached.followed:
        return
    elif kind is Kind.CONDA and dependency.name in _CONDA_METAPACKAGES:
        name = CONDA[part]
        admitted = allowed_by_metapackage(part, dependency.versions)
        way = f"{line}{STEP}{name}"
        yield Way(name, way, admitted, extra, only_limits=dependency.only_limits)
    elif kind is not Kind.CONDA:
        for package, admitted in _brought_along(part, dependency).items():
            yield Way(package, f"{line}{STEP}{package}", admitted, extra)


def _brought_along(part: str, dependency: Dependency) -> dict[str, Allowed]:
    """Return what a dependency on NVIDIA's packages admits of a part, by the package with it."""
    if dependency.name == _TOOLKIT:
        return allowed_by_toolkit(part, dependency.versions, dependency.asks)
    return {
        name: allowed(part, name, ("",))
        for name in come_with(dependency.name)
        if _WHEELS[part].fullmatch(name)
    }


def _is_part(part: str, kind: Kind, name: str) -> bool:
    if kind is Kind.CONDA:
        return name == CONDA[part]
    return _WHEELS[part].fullmatch(name) is not None
