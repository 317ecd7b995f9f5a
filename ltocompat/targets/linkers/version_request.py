"""Wheels for the linkers that a user asks for (``nvlink=13.5``, ``12.4.127``, ``all``)."""

from __future__ import annotations

import re
import sysconfig

from msgspec import Struct

from ltocompat.facts import LinkerWheel, linker_wheels
from ltocompat.model.arch import Release, version_numbers
from ltocompat.model.errors import Missing, UsageError
from ltocompat.model.linker import Tool

_VERSION = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}(?:\.[0-9]{1,5})?)?")
ALL = "all"
FIRST_ON_INDEX = {Tool.NVJITLINK: Release(12, 0), Tool.NVLINK: Release(13, 0)}
NO_NVLINK_12 = (
    "packages of CUDA 12 contain ptxas and libnvvm, but no nvlink; "
    "put the bin folder of an installed toolkit into PATH"
)


class VersionRequest(Struct, frozen=True):
    """One version to install.

    Attributes:
        tool: the kind of linker.
        asked: 12.4.127; for a minor that is not in our tables, 14.1.
        packages: its packages; each gives one file.
        wheels: the known wheels of these packages; empty if the version is not in our tables.
    """

    tool: Tool
    asked: str
    packages: tuple[str, ...]
    wheels: tuple[LinkerWheel, ...] = ()

    def __str__(self) -> str:
        """``nvlink 13.5.37``."""
        return f"{self.tool.label} {self.asked}"

    @property
    def requirements(self) -> tuple[str, ...]:
        """The requirements for pip and uv: ``nvidia-nvjitlink==13.5.37``."""
        exact = self.asked.count(".") == 2
        return tuple(f"{name}=={self.asked}{'' if exact else '.*'}" for name in self.packages)

    @property
    def size(self) -> int:
        """Bytes to download; 0 if unknown."""
        return sum(wheel.size for wheel in self.wheels)


def split(text: str) -> tuple[Tool, str]:
    """Return the tool of ``nvlink=13.5`` (or ``==``) and its version, ``all`` or a path.

    Raises:
        UsageError: it names no linker.
    """
    name, given, wanted = text.replace("==", "=").partition("=")
    if not given or not wanted or name.strip().lower() not in tuple(Tool):
        raise UsageError(f"write a linker with its version, as in nvjitlink=13.4, not {text!r}")
    return Tool(name.strip().lower()), wanted.strip()


def is_version(text: str) -> bool:
    """Return whether ``text`` is 12, 12.4 or 12.4.127, not a path."""
    return _VERSION.fullmatch(text) is not None


def matches(text: str, version: str) -> bool:
    """Return whether ``version`` is the requested version, or of the requested minor or major."""
    return version == text or version.startswith(f"{text}.")


def choose(
    text: str, *, allow_unknown: bool, tool: Tool = Tool.NVJITLINK
) -> tuple[VersionRequest, ...]:
    """Return the requested versions for this platform; for a minor or major, the newest known one.

    Args:
        text: ``12``, ``12.4``, ``12.4.127``, or ``all`` for one of each minor.
        allow_unknown: True to also accept a version that is not in our tables.
        tool: the kind of linker.

    Raises:
        UsageError: it is not a version, or one that is not in our tables.
        Missing: NVIDIA publishes no such linker for the platform, or not this version.
    """
    here = sysconfig.get_platform()
    wheels = [wheel for wheel in linker_wheels(tool) if wheel.platform == here]
    if not wheels:
        systems = "Linux or Windows" if tool is Tool.NVJITLINK else "Linux"
        raise Missing(f"NVIDIA publishes no {tool.label} for {here}; use a machine with {systems}")
    if text != ALL:
        return (_request(tool, text, wheels, allow_unknown=allow_unknown),)
    minors = dict.fromkeys(str(wheel.release) for wheel in wheels)
    return tuple(_request(tool, minor, wheels, allow_unknown=False) for minor in minors)


def _request(
    tool: Tool, text: str, wheels: list[LinkerWheel], *, allow_unknown: bool
) -> VersionRequest:
    if not is_version(text):
        raise UsageError(f"{text!r} is not a version; write 12, 12.4, 12.4.127 or the word all")
    known = [wheel.version for wheel in wheels if matches(text, wheel.version)]
    if known:
        newest = max(known, key=version_numbers)
        parts = tuple(wheel for wheel in wheels if wheel.version == newest)
        return VersionRequest(tool, newest, tuple(wheel.package for wheel in parts), parts)
    release, first = Release.parse(f"{text}.0"), FIRST_ON_INDEX[tool]
    if release < first and tool is Tool.NVLINK:
        raise Missing(f"nvlink {text} can't be installed: {NO_NVLINK_12}")
    if release < first:
        raise UsageError(f"there is no {tool.label} {text}; the first is {first}")
    if not allow_unknown:
        near = dict.fromkeys(wheel.version for wheel in wheels if wheel.release == release)
        known_text = ", ".join(near or dict.fromkeys(str(wheel.release) for wheel in wheels))
        raise UsageError(
            f"{tool.label} {text} is not in our tables, which have {known_text}; to install it "
            f"without a checksum, run: ltocompat linkers install {tool}={text} --allow-unknown"
        )
    return VersionRequest(tool, text, _packages(release, wheels))


def _packages(release: Release, wheels: list[LinkerWheel]) -> tuple[str, ...]:
    """The packages of the newest version that is known; in CUDA 12 names had a suffix."""
    if release.major == FIRST_ON_INDEX[Tool.NVJITLINK].major:
        return ("nvidia-nvjitlink-cu12",)
    newest = max(wheels, key=lambda wheel: version_numbers(wheel.version)).version
    return tuple(wheel.package for wheel in wheels if wheel.version == newest)
