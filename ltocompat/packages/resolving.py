"""From a package's dependencies to nvJitLink and NVRTC, through extras and metapackages."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from ltocompat.facts.libraries import library_packages, toolkit_majors, toolkit_packages
from ltocompat.model.target import System
from ltocompat.packages.values import Dependency, Kind, Package
from ltocompat.targets.systems import MarkerEnvironment
from ltocompat.targets.versions.packages import (
    Allowed,
    allowed,
    allowed_by_metapackage,
    allowed_by_toolkit,
    suffix_major,
)

_WHEELS = {
    "nvjitlink": re.compile(r"nvidia-nvjitlink(?:-cu\d\d)?"),
    "nvrtc": re.compile(r"nvidia-cuda-nvrtc(?:-cu\d\d)?"),
}
_CONDA = {"nvjitlink": "libnvjitlink", "nvrtc": "cuda-nvrtc"}
# Every library of CUDA (conda-forge, recipes of the four: one leads to the other).
_CONDA_METAPACKAGES = ("cuda-libraries", "cuda-toolkit", "cuda-runtime", "cuda")
# A library of 12.4 depends on cuda-version 12.4 (conda-forge, recipe of libnvjitlink: max_pin x.x).
_CONDA_VERSION = "cuda-version"
_TOOLKIT = "cuda-toolkit"
_MAY_BRING = re.compile(r"cuda|nvidia|cupy|torch|jax|tensorflow|numba|(?:-|_)cu1\d")
_BRINGS_NOTHING = ("cuda-pathfinder", "cuda-version")
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Way:
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


def ways_to(part: str, package: Package, others: Sequence[Package] = ()) -> tuple[Way, ...]:
    """Every way to a part.

    Args:
        part: ``nvjitlink`` or ``nvrtc``.
        package: the package to start with.
        others: packages at hand, whose metadata is followed.
    """
    search = _Search(part, package.kind, {other.name: other for other in others})
    found = list(search.of_package(package, frozenset(), 0))
    limits = [
        allowed(part, _CONDA_VERSION, require.versions)
        for require in package.requires
        if package.kind is Kind.CONDA and require.name == _CONDA_VERSION
    ]
    return tuple(
        replace(way, allowed=reduce(Allowed.__and__, limits, way.allowed)) for way in found
    )


def together(ways: Sequence[Way]) -> dict[tuple[str, str | None], tuple[Allowed, Way]]:
    """What ways admit together: (package, extra) -> that, and the most direct way.

    What is always installed also holds where an extra is asked for.
    """
    found: dict[tuple[str, str | None], tuple[Allowed, Way]] = {}
    for way in ways:
        key = (way.package, way.extra)
        before = found.get(key)
        if before is None:
            found[key] = (way.allowed, way)
            continue
        first = min(before[1], way, key=_indirectness)
        found[key] = (before[0] & way.allowed, first)
    for (package, extra), (admitted, way) in found.items():
        always = found.get((package, None))
        if extra is not None and always is not None:
            found[package, extra] = (admitted & always[0], way)
    return found


def _indirectness(way: Way) -> tuple[bool, int]:
    return way.only_limits, way.line.count(" -> ")


@functools.cache
def come_with(name: str) -> tuple[str, ...]:
    """The packages of NVIDIA's that are installed wherever one of them is, as their metadata say.

    Which versions they ask of one another is left open: any of them brings the same file names.
    """
    found = {name: None}
    waiting = [name]
    while waiting:
        package = waiting.pop()
        for row in library_packages().get(package, ()):
            for required in row.requires:
                fresh = [other for other in _required(required, package) if other not in found]
                found |= dict.fromkeys(fresh)
                waiting += fresh
    del found[name]
    return tuple(found)


def _required(text: str, package: str) -> tuple[str, ...]:
    """``nvidia-cublas``, or what ``cuda-toolkit[nvrtc]`` of a package's own major leads to."""
    name, _, extras = text.rstrip("]").partition("[")
    if name != _TOOLKIT:
        return (name,)
    major = suffix_major(package) or toolkit_majors()[-1]
    return tuple(found for extra in extras.split(",") for found in toolkit_packages(major, extra))


def not_at_hand(package: Package, others: Sequence[Package] = ()) -> tuple[str, ...]:
    """Dependencies that may bring a library of CUDA, but whose metadata is not known here."""
    names = {other.name for other in others}
    known = names | library_packages().keys() | {_TOOLKIT, *_BRINGS_NOTHING}
    environment = _environment(package)
    every = (package, *others)
    found = (
        require.name
        for each in every
        for require in each.requires
        if not require.only_limits
        and environment.holds(require.marker)
        and require.name not in known
        and _MAY_BRING.search(require.name)
        and require.name not in _CONDA.values()
    )
    return tuple(dict.fromkeys(found))


def _environment(package: Package) -> MarkerEnvironment:
    """What markers see where the package is installed."""
    windows = any(platform.startswith("win") for platform in package.platforms)
    arm = any(text.endswith(("aarch64", "arm64")) for text in package.platforms)
    system = System("windows" if windows else "linux", "aarch64" if arm else "x86_64")
    return MarkerEnvironment.of(system, package.python)


@dataclass(frozen=True, slots=True)
class _Search:
    """What is the same all along the way."""

    part: str
    kind: Kind
    others: dict[str, Package]

    def of_package(self, package: Package, extras: frozenset[str], depth: int) -> Iterator[Way]:
        """Ways out of a package; below the first one, ``extras`` are those that are asked for."""
        environment = _environment(package)
        for require in package.requires:
            if environment.holds(require.marker):
                yield from self._of(require, depth)
                continue
            for extra in package.extras if depth == 0 else sorted(extras):
                if environment.with_extra(extra).holds(require.marker):
                    of_extra = extra if depth == 0 else None
                    for way in self._of(require, depth):
                        yield replace(way, extra=of_extra)

    def _of(self, dependency: Dependency, depth: int) -> Iterator[Way]:
        if depth > _DEEPEST:
            return
        if self._is_part(dependency.name):
            yield Way(
                dependency.name,
                dependency.line,
                allowed(self.part, dependency.name, dependency.versions),
                only_limits=dependency.only_limits,
            )
        elif dependency.name in self.others:
            beneath = self.of_package(self.others[dependency.name], dependency.asks, depth + 1)
            yield from (
                replace(way, line=f"{dependency.line} -> {_short(way.line)}") for way in beneath
            )
        elif self.kind is Kind.CONDA:
            yield from self._of_metapackage(dependency)
        elif dependency.name == _TOOLKIT:
            by_package = allowed_by_toolkit(self.part, dependency.versions, dependency.asks)
            for package, admitted in by_package.items():
                yield Way(package, f"{dependency.line} -> {package}", admitted)
        else:
            for found in filter(self._is_part, come_with(dependency.name)):
                yield Way(found, f"{dependency.line} -> {found}", allowed(self.part, found, ("",)))

    def _of_metapackage(self, dependency: Dependency) -> Iterator[Way]:
        if dependency.name in _CONDA_METAPACKAGES:
            name = _CONDA[self.part]
            admitted = allowed_by_metapackage(self.part, dependency.versions)
            line = f"{dependency.line} -> {name}"
            yield Way(name, line, admitted, only_limits=dependency.only_limits)

    def _is_part(self, name: str) -> bool:
        if self.kind is Kind.CONDA:
            return name == _CONDA[self.part]
        return _WHEELS[self.part].fullmatch(name) is not None


def _short(line: str) -> str:
    """A line without its key."""
    return line.partition(": ")[2] or line
