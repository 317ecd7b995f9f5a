"""Operating systems of targets, and what the markers of lock files see there."""

from __future__ import annotations

import functools
import platform
import re
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.model.errors import UsageError
from ltocompat.model.target import System

if TYPE_CHECKING:
    from packaging.markers import Marker

_MACHINES = ("x86_64", "aarch64")
_NAMES = ("linux", "windows", "wsl2")
_PYTHON = re.compile(r"3\.[0-9]{1,3}(?:\.[0-9]{1,3})?")


def read_system(text: str) -> System:
    """Return the system of ``linux``, ``windows``, ``wsl2``, ``linux-aarch64`` ...

    Raises:
        UsageError: it is none of these.
    """
    name, _, machine = text.strip().lower().partition("-")
    system = System(name, machine or _MACHINES[0])
    if system.name not in _NAMES or system.machine not in _MACHINES:
        raise UsageError(
            f"{text!r} is not an operating system that CUDA runs on; write linux, linux-x86_64, "
            "linux-aarch64, windows or wsl2"
        )
    return system


class MarkerEnvironment(Struct, frozen=True):
    """The environment for the markers of a target.

    Attributes:
        system: its operating system.
        values: ``sys_platform`` and so on, as in PEP 508.
        extras: the installed extras, for pylock.toml (PEP 751).
        groups: the installed dependency groups.
    """

    system: System
    values: dict[str, str]
    extras: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()

    @classmethod
    def of(cls, system: System, python: str | None) -> MarkerEnvironment:
        """Return the marker environment of a system with a version of Python.

        Args:
            system: the system.
            python: the version; None for the one that runs here.

        Raises:
            UsageError: it is not a version of Python.
        """
        version = platform.python_version() if python is None else python.strip()
        if python is not None and _PYTHON.fullmatch(version) is None:
            raise UsageError(f"{python!r} is not a version of Python; write it like python=3.11")
        windows = system.name == "windows"
        machines = {"x86_64": "AMD64", "aarch64": "ARM64"} if windows else {}
        full = version if version.count(".") >= 2 else f"{version}.0"
        values = {
            "implementation_name": "cpython",
            "implementation_version": full,
            "os_name": "nt" if windows else "posix",
            "platform_machine": machines.get(system.machine, system.machine),
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Windows" if windows else "Linux",
            "platform_version": "",
            "python_full_version": full,
            "python_version": ".".join(version.split(".")[:2]),
            "sys_platform": "win32" if windows else "linux",
            "extra": "",
        }
        return cls(system, values)

    def with_extra(self, extra: str) -> MarkerEnvironment:
        """Return this environment with an ``extra``."""
        return replace(self, values={**self.values, "extra": extra})

    def holds(self, marker: Marker | str | None) -> bool:
        """Return whether a marker is true; a marker that can't be checked counts as true."""
        from packaging.markers import Marker

        if marker is None or marker == "":
            return True
        with suppress(ValueError, KeyError, RecursionError):
            parsed = marker if isinstance(marker, Marker) else _parsed(marker)
            seen: dict[str, str | AbstractSet[str]] = {**self.values}
            seen |= {"extras": self.extras, "dependency_groups": self.groups}
            return _evaluate(parsed, seen)
        return True

    def __str__(self) -> str:
        return f"{self.system} and Python {self.values['python_version']}"


def _evaluate(marker: Marker, seen: dict[str, Any]) -> bool:
    try:
        return marker.evaluate(seen, context="lock_file")
    except TypeError:  # before packaging 25, which has no sets; there, no extra is the empty one
        if "extra" not in seen and "extra" in str(marker):
            raise KeyError("extra") from None
        return marker.evaluate(seen)


@functools.lru_cache(maxsize=4096)  # the lines of a package are asked about again and again
def _parsed(marker: str) -> Marker:
    from packaging.markers import Marker

    from ltocompat.targets.versions.requirement import unwarned

    with unwarned():
        return Marker(marker)
