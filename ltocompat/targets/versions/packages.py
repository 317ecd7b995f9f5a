"""Published releases that a dependency on a package of CUDA admits."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from ltocompat.facts import linker_wheels
from ltocompat.facts.toolkits import ToolkitPin, toolkit_pins
from ltocompat.model.arch import Release

if TYPE_CHECKING:
    from packaging.specifiers import Specifier, SpecifierSet
    from packaging.version import Version

_SUFFIX = re.compile(r"-cu([0-9][0-9])$")
# NVIDIA's packages without a suffix begin with CUDA 13.
_FIRST_WITHOUT_SUFFIX = 13


class Allowed(Struct, frozen=True):
    """The releases that a dependency admits.

    Attributes:
        releases: the published releases, and a lower bound that is beyond all of them.
        later_major: a major that is not published yet is admitted, too.
        pinned: the versions that it is pinned to (``==13.0.88``); None where it is a range.
    """

    releases: frozenset[Release]
    later_major: bool
    pinned: str | None = None

    def __and__(self, other: Allowed) -> Allowed:
        return Allowed(
            self.releases & other.releases,
            self.later_major and other.later_major,
            self.pinned or other.pinned,
        )

    def __or__(self, other: Allowed) -> Allowed:
        return Allowed(
            self.releases | other.releases,
            self.later_major or other.later_major,
            self.pinned if self.pinned == other.pinned else None,
        )


def suffix_major(package: str) -> int | None:
    """12 of ``nvidia-nvjitlink-cu12``; None for a name without such a suffix."""
    match = _SUFFIX.search(package)
    return int(match[1]) if match else None


def allowed(part: str, package: str, alternatives: Iterable[str]) -> Allowed:
    """Return the releases that specifiers on a package admit.

    Args:
        part: ``nvjitlink`` or ``nvrtc``.
        package: the package that has it.
        alternatives: specifiers of PEP 440, of which one has to hold.
    """
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    known = [Version(version) for _, version in published(part)]
    found: set[Release] = set()
    later, pins = False, set[str | None]()
    beyond = Version(f"{max(known).major + 1}.0")
    for text in alternatives:
        specifiers = SpecifierSet(text)
        found |= admitted(package, specifiers, known)
        bounded = suffix_major(package) is not None
        later = later or (not bounded and specifiers.contains(beyond, prereleases=True))
        pins.add(_pin(text))
    return Allowed(frozenset(found), later, pins.pop() if len(pins) == 1 else None)


def allowed_by_toolkit(
    part: str, alternatives: Iterable[str], extras: frozenset[str]
) -> dict[str, Allowed]:
    """Return the releases that cuda-toolkit admits, by the package that it asks for.

    Args:
        part: ``nvjitlink`` or ``nvrtc``.
        alternatives: specifiers on cuda-toolkit.
        extras: those of its extras that are asked for.
    """
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    found: dict[str, Allowed] = {}
    newest = max(Release.parse(pin.toolkit).major for pin in toolkit_pins())
    for text in alternatives:
        specifiers = SpecifierSet(text)
        later = specifiers.contains(Version(f"{newest + 1}.0"), prereleases=True)
        pinned = _pin(text) is not None
        for pin in _leading(part, extras):
            if not specifiers.contains(Version(pin.toolkit), prereleases=True):
                continue
            exact = allowed(part, pin.package, (pin.specifier,))
            by_pin = Allowed(exact.releases, later, exact.pinned if pinned else None)
            before = found.get(pin.package)
            found[pin.package] = by_pin if before is None else before | by_pin
    return found


def _leading(part: str, extras: frozenset[str]) -> list[ToolkitPin]:
    return [pin for pin in toolkit_pins() if pin.part == part and pin.extras & extras]


def allowed_by_metapackage(part: str, alternatives: Iterable[str]) -> Allowed:
    """Return the releases that specifiers on a metapackage of conda admit.

    It pins each library exactly (recipe of cuda-libraries 13.2.2 on conda-forge).
    """
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    found: set[Release] = set()
    later, pins = False, set[str | None]()
    toolkits = [Version(pin.toolkit) for pin in toolkit_pins() if pin.part == part]
    for text in alternatives:
        specifiers = SpecifierSet(text)
        # conda-forge writes 13.0.3 where PyPI has 13.0.3.0.
        fitting = [
            toolkit for toolkit in toolkits if specifiers.contains(toolkit, prereleases=True)
        ]
        found |= {Release(version.major, version.minor) for version in fitting}
        beyond = Version(f"{max(toolkits).major + 1}.0")
        later = later or specifiers.contains(beyond, prereleases=True)
        pins.add(_pin(text))
    return Allowed(frozenset(found), later, pins.pop() if len(pins) == 1 else None)


@functools.cache
def published(part: str) -> tuple[tuple[Release, str], ...]:
    """(release, version) of all that is known of nvJitLink or NVRTC."""
    pins = (pin.specifier.partition(",")[0] for pin in toolkit_pins() if pin.part == part)
    versions = {text.lstrip("=>").removesuffix(".*") for text in pins}
    if part == "nvjitlink":
        versions |= {wheel.version for wheel in linker_wheels("nvjitlink")}
    return tuple(sorted((Release.parse(version), version) for version in versions))


def has_release(package: str, release: Release) -> bool:
    """Return whether a package has versions of a release: up to 12, its name ends in -cu12 or so.

    Metapackages and the packages of conda have all of them.
    """
    major = suffix_major(package)
    if major is not None:
        return release.major == major
    return not package.startswith("nvidia-") or release.major >= _FIRST_WITHOUT_SUFFIX


def admitted(
    package: str, specifiers: SpecifierSet, known: Iterable[Version]
) -> frozenset[Release]:
    """The releases of a package that specifiers admit.

    Args:
        package: its name, normalized.
        specifiers: of PEP 440.
        known: versions that there are; exact versions and lower bounds beyond the newest count too,
            since they may have been published after the tables were made.
    """
    versions = tuple(known)
    newest = release_of(max(versions))
    lows = (low for low in map(_low_end, specifiers) if low and release_of(low) > newest)
    return frozenset(
        release
        for version in (*versions, *lows)
        if has_release(package, release := release_of(version))
        and specifiers.contains(version, prereleases=True)
    )


def release_of(version: Version) -> Release:
    """12.4 of 12.4.127, 13.0 of 13."""
    return Release(*(*version.release, 0)[:2])


def _low_end(specifier: Specifier) -> Version | None:
    """The lowest version that is admitted; None where it isn't written."""
    from packaging.version import Version

    if specifier.operator not in (">=", "~=", "=="):
        return None
    low = Version(specifier.version.removesuffix(".*"))
    return Version(".".join(map(str, (*low.release, 0, 0)[:3])))


def _pin(text: str) -> str | None:
    """``==12.4.127`` of a specifier; whole majors (``==13.*``) are no pins."""
    from packaging.specifiers import SpecifierSet

    for specifier in SpecifierSet(text):
        exact = specifier.operator in ("==", "===")
        if exact and specifier.version.removesuffix(".*").count(".") >= 1:
            return str(specifier)
    return None
