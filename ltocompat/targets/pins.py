"""What a lock file says of the CUDA libraries: its pins -> releases."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ltocompat.facts import nvjitlink_wheels
from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError
from ltocompat.model.target import Known
from ltocompat.targets.release_versions import TITLES, existing, known_releases

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

LOOKED_FOR = "nvidia-nvjitlink, nvidia-cuda-nvrtc (also with -cu12) or cuda-toolkit"

_PACKAGE = re.compile(r"(nvidia-nvjitlink|nvidia-cuda-nvrtc|cuda-toolkit)(?:-cu([0-9]{2}))?")
_PARTS = {
    "nvidia-nvjitlink": "nvjitlink",
    "nvidia-cuda-nvrtc": "nvrtc",
    "cuda-toolkit": "toolkit",
}
# Packages without a suffix begin here; those of 12 and before are called -cu12 and -cu11.
_FIRST_WITHOUT_SUFFIX = 13


_ORDER = (">=", ">", "~=", "==", "===", "!=", "<=", "<")


@dataclass(frozen=True, slots=True)
class Pin:
    """A package that a lock file asks for.

    Attributes:
        package: its name, normalized.
        specifiers: ``==12.4.127``, ``>=12.4,<13``; empty where any version does.
    """

    package: str
    specifiers: str

    @property
    def part(self) -> str:
        """``nvjitlink``, ``nvrtc`` or ``toolkit``."""
        match = _PACKAGE.fullmatch(self.package)
        return _PARTS[match[1]] if match else ""


@dataclass(frozen=True, slots=True)
class _Meaning:
    """The releases of one pin, and whether pip may choose any of them."""

    releases: tuple[Release, ...]
    every: bool
    text: str


def is_wanted(package: str) -> bool:
    """Whether a package, by its normalized name, is one of those that are looked for."""
    return _PACKAGE.fullmatch(package) is not None


def libraries(pins: Iterable[Pin], source: str) -> dict[str, Known[Release]]:
    """What the pins say of nvJitLink and NVRTC, by their keys.

    cuda-toolkit stands for the libraries of its release where these have no pin of their own.

    Args:
        pins: those whose markers hold on the target.
        source: name of the lock file.

    Raises:
        UsageError: a pin leaves no version that is known or can be.
    """
    by_part: dict[str, list[Pin]] = {}
    for pin in dict.fromkeys(pins):
        by_part.setdefault(pin.part, []).append(pin)
    found: dict[str, Known[Release]] = {}
    for part in ("nvjitlink", "nvrtc"):
        own = by_part.get(part) or by_part.get("toolkit", [])
        meanings = {pin: _meaning(pin, source) for pin in own}
        meanings = {pin: said for pin, said in meanings.items() if _has(part, said)}
        if meanings:
            found[part] = _known(meanings, source)
    return found


def _has(part: str, said: _Meaning) -> bool:
    """Toolkits before 12.0 have no nvJitLink."""
    return part != "nvjitlink" or said.releases[-1] >= known_releases(part)[0]


def _known(meanings: dict[Pin, _Meaning], source: str) -> Known[Release]:
    releases = tuple(sorted({one for said in meanings.values() for one in said.releases}))
    if len(meanings) > 1:
        # Two candidates, such as one package of each major: which one is loaded, nothing here says.
        text = " or ".join(f"{pin.package} {said.text}" for pin, said in meanings.items())
        return Known(text, releases, every=False, source=source)
    (said,) = meanings.values()
    origin = f"{source}: {said.text}" if said.every else source
    return Known(said.text, releases, every=said.every, source=origin)


def _meaning(pin: Pin, source: str) -> _Meaning:
    from packaging.specifiers import SpecifierSet

    try:
        specifiers = SpecifierSet(pin.specifiers)
        exact = _exact(specifiers)
    except ValueError as error:
        raise UsageError(
            f"{source}: {pin.package}{pin.specifiers} is not a version; write it like "
            f"{pin.package}==12.4.127"
        ) from error
    if exact is None:
        return _Meaning(_in_range(pin, specifiers, source), every=True, text=_spelled(specifiers))
    if not specifiers.contains(exact, prereleases=True):
        raise UsageError(f"{source}: no version of {pin.package} is {pin.specifiers}; pin one")
    try:
        release = existing(pin.part, Release(*(*exact.release, 0)[:2]))
    except UsageError as error:
        raise UsageError(f"{source}: {pin.package} {exact}: {error}") from error
    return _Meaning((release,), every=False, text=str(exact))


def _exact(specifiers: SpecifierSet) -> Version | None:
    from packaging.version import Version

    for one in specifiers:
        if one.operator in ("==", "===") and not one.version.endswith(".*"):
            return Version(one.version)
    return None


def _in_range(pin: Pin, specifiers: SpecifierSet, source: str) -> tuple[Release, ...]:
    from packaging.version import Version

    versions = {Version(text) for text in _published(pin.package)}
    newest = known_releases(pin.part)[-1]
    for one in specifiers:
        # The low end of a range is a version too, where the tables end before it.
        if one.operator in (">=", "~="):
            low = Version(one.version)
            beyond = Release(*(*low.release, 0)[:2]) > newest
            versions |= {low} if beyond or one.operator == "~=" else set()
    fitting = [one for one in versions if specifiers.contains(one, prereleases=True)]
    releases = {Release(*(*one.release, 0)[:2]) for one in fitting}
    found = tuple(sorted(one for one in releases if _is_for(pin.package, one)))
    if not found:
        raise UsageError(
            f"{source}: no {TITLES[pin.part]} that is known is {pin.package}{pin.specifiers}; pin "
            f"one of {', '.join(str(one) for one in known_releases(pin.part))}"
        )
    return found


@functools.cache
def _published(package: str) -> tuple[str, ...]:
    """Versions of a package; where only minors are known, their first and last possible patch."""
    wheels = tuple(dict.fromkeys(w.version for w in nvjitlink_wheels() if w.package == package))
    if wheels:
        return wheels
    part = Pin(package, "").part
    minors = [one for one in known_releases(part) if _is_for(package, one)]
    return tuple(f"{minor}.{patch}" for minor in minors for patch in (0, 999))


def _is_for(package: str, release: Release) -> bool:
    """Whether a package has a version of this release."""
    match = _PACKAGE.fullmatch(package)
    if match is None or match[1] == "cuda-toolkit":
        return True
    if match[2]:
        return release.major == int(match[2])
    return release.major >= _FIRST_WITHOUT_SUFFIX


def _spelled(specifiers: SpecifierSet) -> str:
    """As people write a range, low end first; a set has no order of its own."""
    ordered = sorted(specifiers, key=lambda one: (_ORDER.index(one.operator), one.version))
    return ",".join(str(one) for one in ordered) or "any version"
