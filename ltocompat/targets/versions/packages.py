"""Published releases that a dependency on a package of CUDA admits."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from ltocompat.facts import linker_wheels, rows
from ltocompat.facts.toolkits import ToolkitPin
from ltocompat.model.arch import Release
from ltocompat.model.requirement import LAST_WITH_SUFFIX

if TYPE_CHECKING:
    from packaging.specifiers import Specifier, SpecifierSet
    from packaging.version import Version

_SUFFIX = re.compile(r"-cu([0-9][0-9])$")


class Allowed(Struct, frozen=True):
    """The releases that a dependency admits.

    Attributes:
        releases: the published releases, and a lower bound newer than all of them.
        later_major: True if an unpublished major is admitted, too.
        pinned: the pinned versions (``==13.0.88``); None for a range.
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
    """Return 12 for ``nvidia-nvjitlink-cu12``; None for a name without such a suffix."""
    match = _SUFFIX.search(package)
    return int(match[1]) if match else None


def allowed(part: str, package: str, alternatives: Iterable[str]) -> Allowed:
    """Return the releases that specifiers on a package admit.

    Args:
        part: ``nvjitlink`` or ``nvrtc``.
        package: its package.
        alternatives: alternative specifiers of PEP 440.
    """
    from packaging.version import Version

    known = [Version(version) for _, version in published(part)]
    beyond = None if suffix_major(package) is not None else _beyond(known)
    return _combined(alternatives, lambda specifiers: admitted(package, specifiers, known), beyond)


def allowed_by_toolkit(
    part: str, alternatives: Iterable[str], extras: frozenset[str]
) -> dict[str, Allowed]:
    """Return the releases that cuda-toolkit admits, by the required package.

    Args:
        part: ``nvjitlink`` or ``nvrtc``.
        alternatives: specifiers on cuda-toolkit.
        extras: the requested extras.
    """
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    found: dict[str, Allowed] = {}
    beyond = _beyond(Version(pin.toolkit) for pin in rows(ToolkitPin))
    for text in alternatives:
        specifiers = SpecifierSet(text)
        later = specifiers.contains(beyond, prereleases=True)
        pinned = _pin(specifiers) is not None
        for pin in rows(ToolkitPin):
            leads = pin.part == part and pin.extras & extras
            if not leads or not specifiers.contains(pin.toolkit, prereleases=True):
                continue
            exact = allowed(part, pin.package, (pin.specifier,))
            by_pin = Allowed(exact.releases, later, exact.pinned if pinned else None)
            found[pin.package] = found.get(pin.package, by_pin) | by_pin
    for pin in pins_beside_any_nvjitlink(alternatives, extras) if part == "nvjitlink" else ():
        name = pin.package.replace("cusparse", part)
        found[name] = allowed(part, name, ("",))
    return found


def pins_beside_any_nvjitlink(
    alternatives: Iterable[str], extras: frozenset[str]
) -> Iterator[ToolkitPin]:
    """Yield what admitted versions of cuda-toolkit pin of cuSPARSE, and ask for no nvJitLink.

    cuSPARSE depends on nvJitLink of any version (metadata of nvidia-cusparse-cu12 12.5.8.93).

    Args:
        alternatives: specifiers on cuda-toolkit.
        extras: the requested extras.
    """
    from packaging.specifiers import SpecifierSet

    asked = [pin for pin in rows(ToolkitPin) if pin.extras & extras]
    bounded = {pin.toolkit for pin in asked if pin.part == "nvjitlink"}
    specifiers = [SpecifierSet(text) for text in alternatives]
    for pin in asked:
        admitted_pin = any(each.contains(pin.toolkit, prereleases=True) for each in specifiers)
        if pin.part == "cusparse" and admitted_pin and pin.toolkit not in bounded:
            yield pin


def oldest_cusparse(package: str, alternatives: Iterable[str]) -> str:
    """Return the oldest admitted version of a package with cuSPARSE; empty if none is known.

    Args:
        package: its name.
        alternatives: specifiers on it; none if its versions are unknown.
    """
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    pins = (pin for pin in rows(ToolkitPin) if (pin.package, pin.part) == (package, "cusparse"))
    versions = [pin.specifier.strip("=.*") for pin in pins]
    admitted = (each for text in alternatives for each in SpecifierSet(text).filter(versions))
    return min(admitted, key=Version, default="")


def allowed_by_metapackage(part: str, alternatives: Iterable[str]) -> Allowed:
    """Return the releases that specifiers on a conda metapackage admit.

    It pins each library exactly (recipe of cuda-libraries 13.2.2 on conda-forge).
    """
    from packaging.version import Version

    # conda-forge writes 13.0.3 where PyPI has 13.0.3.0.
    toolkits = [Version(pin.toolkit) for pin in rows(ToolkitPin) if pin.part == part]
    return _combined(
        alternatives,
        lambda specifiers: map(release_of, specifiers.filter(toolkits, prereleases=True)),
        _beyond(toolkits),
    )


def _beyond(known: Iterable[Version]) -> Version:
    """The first version of the major after all that are known."""
    from packaging.version import Version

    return Version(f"{max(known).major + 1}.0")


def _combined(
    alternatives: Iterable[str],
    releases: Callable[[SpecifierSet], Iterable[Release]],
    beyond: Version | None,
) -> Allowed:
    """Fold specifiers of which one has to hold.

    Args:
        alternatives: the specifiers.
        releases: what one of them admits of what was published.
        beyond: a version of a later major; None if the package has none.
    """
    from packaging.specifiers import SpecifierSet

    read = [SpecifierSet(text) for text in alternatives]
    pins = {_pin(specifiers) for specifiers in read}
    return Allowed(
        frozenset(release for specifiers in read for release in releases(specifiers)),
        beyond is not None and any(s.contains(beyond, prereleases=True) for s in read),
        pins.pop() if len(pins) == 1 else None,
    )


@functools.cache
def published(part: str) -> tuple[tuple[Release, str], ...]:
    """Return (release, version) of all known versions of nvJitLink or NVRTC."""
    pins = (pin.specifier.partition(",")[0] for pin in rows(ToolkitPin) if pin.part == part)
    versions = {text.lstrip("=>").removesuffix(".*") for text in pins}
    if part == "nvjitlink":
        versions |= {wheel.version for wheel in linker_wheels("nvjitlink")}
    return tuple(sorted((Release.parse(version), version) for version in versions))


def has_release(package: str, release: Release) -> bool:
    """Return whether a package has versions of a release: up to 12, its name ends in -cu12 or so.

    Metapackages and conda packages have all releases.
    """
    major = suffix_major(package)
    if major is not None:
        return release.major == major
    return not package.startswith("nvidia-") or release.major > LAST_WITH_SUFFIX


def admitted(
    package: str, specifiers: SpecifierSet, known: Iterable[Version]
) -> frozenset[Release]:
    """Return the releases of a package that specifiers admit.

    Args:
        package: its name, normalized.
        specifiers: specifiers of PEP 440.
        known: the known versions; newer exact versions and lower bounds count, too, since they may
            be published after the tables.
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
    """The lowest version that is admitted; None if it isn't written."""
    from packaging.version import Version

    if specifier.operator not in (">=", "~=", "=="):
        return None
    low = Version(specifier.version.removesuffix(".*"))
    return Version(".".join(map(str, (*low.release, 0, 0)[:3])))


def _pin(specifiers: SpecifierSet) -> str | None:
    """``==12.4.127`` of a specifier; whole majors (``==13.*``) are no pins."""
    for specifier in specifiers:
        exact = specifier.operator in ("==", "===")
        if exact and specifier.version.removesuffix(".*").count(".") >= 1:
            return str(specifier)
    return None
