"""Libraries of CUDA that a package depends on, through extras and metapackages."""

from __future__ import annotations

import functools
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import asdict, replace

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

WHEELS = {"nvjitlink": "nvidia-nvjitlink", "nvrtc": "nvidia-cuda-nvrtc"}
CONDA = {"nvjitlink": "libnvjitlink", "nvrtc": "cuda-nvrtc"}
# Every library of CUDA (conda-forge, recipes of the four: one leads to the other).
_CONDA_METAPACKAGES = ("cuda-libraries", "cuda-toolkit", "cuda-runtime", "cuda")
# A library of 12.4 depends on cuda-version 12.4 (conda-forge, recipe of libnvjitlink: max_pin x.x).
_TOOLKIT = "cuda-toolkit"
_MAY_BRING = re.compile(
    r"cuda|nvidia|cupy|torch|tensorrt|cuquantum|nvmath|rapids|gpu|runtime"
    r"|-libs?(?:-|$)|-cu1[0-9]"
)
_SUFFIX = re.compile(r"-cu[0-9][0-9]$")
_DEEPEST = 8
_EXTRA = re.compile(r"\bextra\b")
_IS_EXTRA = re.compile(
    r"""(?:["']([^"']*)["']\s*==\s*\bextra\b(?!\s*[=!<>~])|\bextra\s*==\s*["']([^"']*)["'])"""
)
STEP = " -> "


class Lead(Struct, frozen=True):
    """A package with NVIDIA's libraries that a package's metadata lead to.

    Attributes:
        package: its name.
        line: the first line of the chain, and the rest of it: ``Requires-Dist: cuda-toolkit[nvrtc]
            -> nvidia-cuda-nvrtc``.
        by: the last dependency of the chain, on the package itself or on one that installs it.
        extra: the required extra; None for none.
        by_chance: True if it is installed, although the metadata may not lead there.
    """

    package: str
    line: str
    by: Dependency
    extra: str | None = None
    by_chance: bool = False

    @property
    def versions(self) -> tuple[str, ...]:
        """Alternative specifiers on it; empty if another package installs it with its own."""
        return self.by.versions if self.by.name == self.package else ()

    @property
    def only_limits(self) -> bool:
        """Return whether it installs nothing and only limits versions."""
        return self.by.only_limits


class Way(Lead, frozen=True, kw_only=True):
    """A lead to nvJitLink or NVRTC.

    Attributes:
        allowed: the versions that it allows.
    """

    allowed: Allowed


def ways_to(
    part: str, package: Package, others: Sequence[Package] = (), budget: Budget | None = None
) -> tuple[Way, ...]:
    """Return every chain of dependencies to a part.

    Args:
        part: ``nvjitlink`` or ``nvrtc``.
        package: the package to start with.
        others: known packages, whose metadata is followed.
        budget: the budget; None for the default.

    Raises:
        LimitExceeded: the time is used up.
    """
    found = [
        Way(**asdict(lead), allowed=admitted)
        for lead in _leads(package, others, budget or Budget())
        if _is_part(part, package.kind, lead.package)
        and (admitted := _admitted(part, package.kind, lead)) is not None
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
        Way(name, line := f"{name} is installed", Dependency(name, (), line), allowed=exact)
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
    """Return the most direct chain per package and extra, with the versions that all allow.

    Unconditional dependencies also hold with an extra.
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
    """Return the NVIDIA packages that are always installed with one of them, by their metadata.

    Their versions are ignored, since all versions install the same file names.
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


def not_at_hand(package: Package, others: Sequence[Package], budget: Budget) -> tuple[str, ...]:
    """Return dependencies that may install a CUDA library, but whose metadata is unknown.

    A bare list of names and versions counts as complete only if it has NVIDIA's packages.
    """
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
    """Return whether only the project's name shows that a dependency may install a library."""
    project = package.name.partition("-")[0]  # foo-core's own has foo-base
    of_project = name.partition("-")[0] == project and len(project) > 2
    return of_project and not _MAY_BRING.search(name)


def _environment(package: Package) -> MarkerEnvironment:
    """Return the environment that markers see where the package is installed."""
    arm = any(text.endswith(("aarch64", "arm64")) for text in package.platforms)
    system = System("windows" if package.on_windows else "linux", "aarch64" if arm else "x86_64")
    return MarkerEnvironment.of(system, package.python)


def leads(package: Package, others: Sequence[Package], budget: Budget) -> tuple[Lead, ...]:
    """Return every package with CUDA libraries that a package installs, each chain once.

    Args:
        package: the package to start with.
        others: known packages, whose metadata is followed.
        budget: the budget for it.

    Raises:
        LimitExceeded: the time is used up.
    """
    known = conda_libraries() if package.kind is Kind.CONDA else library_packages()
    every = _leads(package, others, budget)
    found = [lead for lead in every if lead.package in known and not lead.only_limits]
    there = [other for other in others if other.name in library_packages()]
    exact = grouped((other.name, f"=={other.version}") for other in there)
    resolved = {
        name: Dependency(name, tuple(versions), f"{name} is installed")
        for name, versions in exact.items()
    }
    found = [
        replace(lead, by=resolved.get(lead.package, lead.by))
        for lead in found
        if lead.package in resolved or not in_environment(package, others)
    ]
    found += [Lead(name, by.line, by, by_chance=True) for name, by in resolved.items()]
    return tuple(dict.fromkeys(found))


def _leads(package: Package, others: Sequence[Package], budget: Budget) -> Iterator[Lead]:
    """Yield every dependency by each way to it, through packages at hand, and what others bring."""
    at_hand = {other.name: other for other in others}
    first = _installed(package, package.extras, budget)
    waiting = deque((dependency, dependency.line, extra, 0) for dependency, extra in first)
    while waiting:
        budget.check_time()
        dependency, line, extra, depth = waiting.popleft()
        yield Lead(dependency.name, line, dependency, extra)
        other = at_hand.get(dependency.name)
        if other is None:
            for name in _brought(package.kind, dependency):
                yield Lead(name, f"{line}{STEP}{name}", dependency, extra)
        elif depth < _DEEPEST:
            behind = [found for found, _ in _installed(other, sorted(dependency.asks), budget)]
            for found in reversed(behind):
                without_key = found.line.partition(": ")[2] or found.line
                waiting.appendleft((found, f"{line}{STEP}{without_key}", extra, depth + 1))


def _brought(kind: Kind, dependency: Dependency) -> Iterator[str]:
    """The packages of NVIDIA's libraries that are installed with a dependency."""
    if kind is Kind.CONDA:
        every = dependency.name in _CONDA_METAPACKAGES
        yield from (*conda_libraries(), *CONDA.values()) if every else ()
        return
    yield from come_with(dependency.name)
    for major in _toolkit_majors_in(dependency.versions) if dependency.name == _TOOLKIT else ():
        for wanted in sorted(dependency.asks):
            for package in toolkit_packages(major, wanted):
                yield from (package, *come_with(package))


def _toolkit_majors_in(alternatives: tuple[str, ...]) -> Iterator[int]:
    """The majors of cuda-toolkit that specifiers admit."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    versions = {Version(pin.toolkit) for pin in rows(ToolkitPin)}
    for major in toolkit_majors():
        of_major = [version for version in versions if version.major == major]
        if any(SpecifierSet(text).contains(v) for text in alternatives for v in of_major):
            yield major


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
    """Return a map from the names that packages and their extras require to the required extras."""
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
    """The extras that a marker compares with ``==``; None if it asks in another way.

    All others change nothing of it, so that hundreds of extras need not be tried one by one.
    """
    found = _IS_EXTRA.findall(marker)
    if len(found) < len(_EXTRA.findall(marker)):
        return None
    return frozenset(normalized(before or behind) for before, behind in found)


def _admitted(part: str, kind: Kind, lead: Lead) -> Allowed | None:
    """Return the releases of a part that a lead to it admits; None if it leads to none."""
    if lead.by.name == lead.package:
        return allowed(part, lead.package, lead.versions)
    if kind is Kind.CONDA:
        return allowed_by_metapackage(part, lead.by.versions)
    if lead.by.name == _TOOLKIT:
        return allowed_by_toolkit(part, lead.by.versions, lead.by.asks).get(lead.package)
    return allowed(part, lead.package, ("",))


def _is_part(part: str, kind: Kind, name: str) -> bool:
    plain = name if kind is Kind.CONDA else _SUFFIX.sub("", name)
    return plain == (CONDA if kind is Kind.CONDA else WHEELS)[part]
