"""Which releases of nvJitLink and NVRTC a dependency admits, among all that were published."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ltocompat.facts import linker_wheels
from ltocompat.facts.toolkit_pins import ToolkitPin, toolkit_pins
from ltocompat.model.arch import Release

if TYPE_CHECKING:
    from packaging.version import Version

_SUFFIX = re.compile(r"-cu(\d\d)$")
# Packages without a suffix begin with CUDA 13; those of conda were never called otherwise.
_FIRST_WITHOUT_SUFFIX = 13
_CONDA = ("libnvjitlink", "cuda-nvrtc", "cuda-version")


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a dependency admits.

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
    """What specifiers on a package admit.

    Args:
        part: ``nvjitlink`` or ``nvrtc``.
        package: the package that has it.
        alternatives: specifiers of PEP 440, of which one has to hold.
    """
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    major = suffix_major(package)
    known = published(part)
    found: set[Release] = set()
    later, pins = False, set[str | None]()
    beyond = Version(f"{max(known)[0].major + 1}.0")
    for text in alternatives:
        specifiers = SpecifierSet(text)
        versions = [(release, Version(version)) for release, version in known]
        versions += [(Release(*low.release[:2]), low) for low in _lows(text, known)]
        found |= {
            release
            for release, version in versions
            if _has(package, major, release) and specifiers.contains(version, prereleases=True)
        }
        later = later or (major is None and specifiers.contains(beyond, prereleases=True))
        pins.add(_pin(text))
    return Allowed(frozenset(found), later, pins.pop() if len(pins) == 1 else None)


def allowed_by_toolkit(
    part: str, alternatives: Iterable[str], extras: frozenset[str]
) -> dict[str, Allowed]:
    """What the metapackage cuda-toolkit admits, by the package that it asks for.

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
            one = allowed(part, pin.package, (pin.specifier,))
            one = Allowed(one.releases, later, one.pinned if pinned else None)
            found[pin.package] = found[pin.package] | one if pin.package in found else one
    return found


def _leading(part: str, extras: frozenset[str]) -> list[ToolkitPin]:
    return [pin for pin in toolkit_pins() if pin.part == part and pin.extras & extras]


def allowed_by_metapackage(part: str, alternatives: Iterable[str]) -> Allowed:
    """What specifiers on a metapackage of conda admit, which has the version of its toolkit.

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


def _has(package: str, major: int | None, release: Release) -> bool:
    """Whether a package has versions of this release."""
    if package in _CONDA:
        return True
    return release.major == major if major else release.major >= _FIRST_WITHOUT_SUFFIX


def _lows(text: str, known: tuple[tuple[Release, str], ...]) -> list[Version]:
    """Lower bounds and exact versions that are newer than all that is known."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    found = []
    for specifier in SpecifierSet(text):
        if specifier.operator in (">=", "~=", "=="):
            version = Version(specifier.version.removesuffix(".*"))
            numbers = (*version.release, 0)[:2]
            if Release(*numbers) > known[-1][0]:
                found.append(Version(".".join(map(str, (*version.release, 0, 0)[:3]))))
    return found


def _pin(text: str) -> str | None:
    """``==12.4.127`` of a specifier; whole majors (``==13.*``) are no pins."""
    from packaging.specifiers import SpecifierSet

    for specifier in SpecifierSet(text):
        exact = specifier.operator in ("==", "===")
        if exact and specifier.version.removesuffix(".*").count(".") >= 1:
            return str(specifier)
    return None
