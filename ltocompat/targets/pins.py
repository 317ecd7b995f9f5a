"""Pins of the CUDA libraries in a lock file -> releases."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from ltocompat.facts import linker_wheels
from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError, restated
from ltocompat.model.limits import Budget
from ltocompat.model.target import Quantifier, VersionSet
from ltocompat.targets.versions.packages import admitted, release_of
from ltocompat.targets.versions.releases import TITLES, existing, known_releases

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

LOOKED_FOR = (
    "nvidia-nvjitlink, nvidia-cuda-nvrtc (also with -cu12; on conda: libnvjitlink, cuda-nvrtc) "
    "or cuda-toolkit"
)

_PACKAGE = re.compile(
    r"(nvidia-nvjitlink|nvidia-cuda-nvrtc|cuda-toolkit|libnvjitlink|cuda-nvrtc)(?:-cu([0-9]{2}))?"
)
_PARTS = {
    "nvidia-nvjitlink": "nvjitlink",
    "libnvjitlink": "nvjitlink",  # conda-forge's names
    "nvidia-cuda-nvrtc": "nvrtc",
    "cuda-nvrtc": "nvrtc",
    "cuda-toolkit": "toolkit",
}
_ORDER = (">=", ">", "~=", "==", "===", "!=", "<=", "<")


class Pin(Struct, frozen=True):
    """A package that a lock file requires.

    Attributes:
        package: its name, normalized.
        specifiers: ``==12.4.127``, ``>=12.4,<13``; empty for any version.
    """

    package: str
    specifiers: str

    @property
    def part(self) -> str:
        """``nvjitlink``, ``nvrtc`` or ``toolkit``."""
        match = _PACKAGE.fullmatch(self.package)
        return _PARTS[match[1]] if match else ""


def libraries(pins: Iterable[Pin], source: str, budget: Budget) -> dict[str, VersionSet[Release]]:
    """Return the releases of nvJitLink and NVRTC that the pins allow, by their keys.

    cuda-toolkit stands for the libraries of its release if these have no pin.

    Args:
        pins: the pins whose markers hold on the target.
        source: name of the lock file.
        budget: the budget.

    Raises:
        LimitExceeded: there are too many pins.
        UsageError: a pin allows no version.
    """
    by_part: dict[str, list[Pin]] = {}
    for pin in budget.timed(dict.fromkeys(pins)):
        # Each part of a range is compared with each version that there is.
        if pin.specifiers.count(",") >= budget.limits.comparisons:
            raise UsageError(
                f"{source}: the requirement on {pin.package} has more than "
                f"{budget.limits.comparisons} conditions; pin one version"
            )
        by_part.setdefault(pin.part, []).append(pin)
    found: dict[str, VersionSet[Release]] = {}
    for part in ("nvjitlink", "nvrtc"):
        own = by_part.get(part) or by_part.get("toolkit", [])
        meanings = {pin: _meaning(pin, source) for pin in budget.timed(own, slow=True)}
        if part == "nvjitlink":  # toolkits before 12.0 have none
            first = known_releases(part)[0]
            meanings = {pin: known for pin, known in meanings.items() if known.values[-1] >= first}
        if meanings:
            found[part] = _known(meanings, source)
    return found


def _known(meanings: dict[Pin, VersionSet[Release]], source: str) -> VersionSet[Release]:
    if len(meanings) == 1:
        return next(iter(meanings.values()))
    # Two candidates, such as one package of each major: which one is loaded, nothing here says.
    text = " or ".join(f"{pin.package} {meaning.text}" for pin, meaning in meanings.items())
    releases = {release for meaning in meanings.values() for release in meaning.values}
    return VersionSet(text, tuple(sorted(releases)), Quantifier.ONE_OF, source)


def _meaning(pin: Pin, source: str) -> VersionSet[Release]:
    from packaging.specifiers import SpecifierSet

    try:
        specifiers = SpecifierSet(pin.specifiers)
        exact = _exact(specifiers)
        releases = _in_range(pin, specifiers, source) if exact is None else ()
    except ValueError as error:  # also of a number of thousands of digits
        raise UsageError(
            f"{source}: {pin.package}{pin.specifiers[:60]} is not a version; write it like "
            f"{pin.package}==12.4.127"
        ) from error
    if exact is None:
        text = _spelled(specifiers)
        return VersionSet(text, releases, Quantifier.ALL, f"{source}: {text}")
    if not specifiers.contains(exact, prereleases=True):
        raise UsageError(
            f"{source}: no {pin.package} satisfies {pin.specifiers}; pin another version"
        )
    with restated(UsageError, f"{source}: {pin.package} {exact}", UsageError):
        release = existing(pin.part, release_of(exact))
    return VersionSet(str(exact), (release,), Quantifier.ONE_OF, source)


def _exact(specifiers: SpecifierSet) -> Version | None:
    from packaging.version import Version

    for specifier in specifiers:
        if specifier.operator in ("==", "===") and not specifier.version.endswith(".*"):
            return Version(specifier.version)
    return None


def _in_range(pin: Pin, specifiers: SpecifierSet, source: str) -> tuple[Release, ...]:
    from packaging.version import Version

    found = admitted(pin.package, specifiers, map(Version, _published(pin.package)))
    if not found:
        raise UsageError(
            f"{source}: the tables have no {TITLES[pin.part]} {pin.package}{pin.specifiers}; pin "
            f"one of {', '.join(str(known_release) for known_release in known_releases(pin.part))}"
        )
    return tuple(sorted(found))


@functools.cache
def _published(package: str) -> tuple[str, ...]:
    """Versions of a package; where only minors are known, their first and last possible patch."""
    part = Pin(package, "").part
    if part == "nvjitlink":
        return tuple(dict.fromkeys(wheel.version for wheel in linker_wheels(part)))
    return tuple(f"{minor}.{patch}" for minor in known_releases(part) for patch in (0, 999))


def _spelled(specifiers: SpecifierSet) -> str:
    """Spell a range as people write it, low end first; a set has no order of its own."""
    ordered = sorted(
        specifiers, key=lambda specifier: (_ORDER.index(specifier.operator), specifier.version)
    )
    return ",".join(str(specifier) for specifier in ordered) or "any version"
