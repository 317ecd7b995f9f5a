"""From what a user asks for (``12.4``, ``12.4.127``, ``all``) to the wheels that hold it."""

from __future__ import annotations

import re
import sysconfig
from dataclasses import dataclass

from ltocompat.facts import NvJitLinkWheel, nvjitlink_wheels
from ltocompat.model.arch import Release
from ltocompat.model.errors import Missing, UsageError
from ltocompat.targets.linkers.linker import version_numbers

_VERSION = re.compile(r"(\d{1,3}\.\d{1,3})(\.\d{1,5})?")
ALL = "all"


@dataclass(frozen=True, slots=True)
class VersionRequest:
    """One version to install.

    Attributes:
        asked: 12.4.127; of a minor that is not in our tables, 14.1.
        package: the package that has it.
        wheel: what is known of it, None when it is not in our tables.
    """

    asked: str
    package: str
    wheel: NvJitLinkWheel | None = None

    @property
    def requirement(self) -> str:
        """As pip and uv want it: ``nvidia-nvjitlink==13.5.37``."""
        exact = self.asked.count(".") == 2
        return f"{self.package}=={self.asked}{'' if exact else '.*'}"

    def is_met_by(self, version: str) -> bool:
        """Whether this version is what was asked for."""
        return matches(self.asked, version)


def is_version(text: str) -> bool:
    """Whether ``text`` is 12.4 or 12.4.127, rather than a path."""
    return _VERSION.fullmatch(text) is not None


def matches(text: str, version: str) -> bool:
    """Whether ``version`` is the one, or of the minor, that was asked for."""
    return version == text or version.startswith(f"{text}.")


def choose(
    text: str, *, allow_unknown: bool, platform: str | None = None
) -> tuple[VersionRequest, ...]:
    """The versions that ``text`` asks for; of a minor the newest patch level that is known.

    Args:
        text: ``12.4``, ``12.4.127``, or ``all`` for one of each minor.
        allow_unknown: a version that is not in our tables is wanted nevertheless.
        platform: as Python names it, ``linux-x86_64``; None for this one.

    Raises:
        UsageError: it is no version, or one that is not in our tables.
        Missing: NVIDIA publishes no nvJitLink for the platform.
    """
    here = platform or sysconfig.get_platform()
    wheels = [wheel for wheel in nvjitlink_wheels() if wheel.platform == here]
    if not wheels:
        raise Missing(f"there is no nvJitLink for {here}; use a machine with Linux or Windows")
    if text != ALL:
        return (_one(text, wheels, allow_unknown=allow_unknown),)
    minors = dict.fromkeys(str(wheel.release) for wheel in wheels)
    return tuple(_one(minor, wheels, allow_unknown=False) for minor in minors)


def _one(text: str, wheels: list[NvJitLinkWheel], *, allow_unknown: bool) -> VersionRequest:
    if not is_version(text):
        raise UsageError(f"{text!r} is not a version; write it like 12.4 or 12.4.127, or say all")
    known = [wheel for wheel in wheels if matches(text, wheel.version)]
    if known:
        newest = max(known, key=lambda wheel: version_numbers(wheel.version))
        return VersionRequest(newest.version, newest.package, newest)
    release = Release.parse(text)
    near = [wheel.version for wheel in wheels if wheel.release == release]
    if not allow_unknown:
        known_text = ", ".join(near or dict.fromkeys(str(wheel.release) for wheel in wheels))
        raise UsageError(
            f"nvJitLink {text} is not in our tables, which know {known_text}; to install it with "
            "no sum to check it by, add --allow-unknown"
        )
    if release.major < 12:
        raise UsageError(f"there is no nvJitLink {text}; the first is 12.0")
    return VersionRequest(
        text, "nvidia-nvjitlink-cu12" if release.major == 12 else "nvidia-nvjitlink"
    )
