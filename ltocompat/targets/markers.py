"""Markers of lock files (``sys_platform == 'linux'``), judged for a target."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ltocompat.model.target import System
from ltocompat.targets.systems import marker_environment

if TYPE_CHECKING:
    from packaging.markers import Marker


@dataclass(frozen=True, slots=True)
class MarkerEnvironment:
    """What the markers of a target see.

    Attributes:
        system: its operating system.
        values: ``sys_platform`` and so on, as PEP 508 names them.
        extras: the extras that are installed, for pylock.toml (PEP 751).
        groups: likewise the dependency groups.
    """

    system: System
    values: dict[str, str]
    extras: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()

    @classmethod
    def of(cls, system: System, python: str | None) -> MarkerEnvironment:
        """That of a system with a Python; None for the version that runs here.

        Raises:
            UsageError: it is no version of Python.
        """
        return cls(system, marker_environment(system, python))

    def with_extra(self, extra: str) -> MarkerEnvironment:
        """The same, where a marker asks for ``extra``."""
        values = {**self.values, "extra": extra}
        return MarkerEnvironment(self.system, values, self.extras, self.groups)

    def with_choice(self, extras: Iterable[str], groups: Iterable[str]) -> MarkerEnvironment:
        """The same with these extras and dependency groups installed."""
        return MarkerEnvironment(self.system, self.values, frozenset(extras), frozenset(groups))

    def holds(self, marker: Marker | str | None) -> bool:
        """Whether a marker is true; one that can't be judged counts as true, since it may be."""
        from packaging.markers import Marker

        if marker is None or marker == "":
            return True
        try:
            parsed = marker if isinstance(marker, Marker) else Marker(marker)
            seen: dict[str, str | AbstractSet[str]] = {**self.values}
            seen |= {"extras": self.extras, "dependency_groups": self.groups}
            return parsed.evaluate(seen, context="lock_file")
        except (ValueError, KeyError, RecursionError):
            return True

    def __str__(self) -> str:
        return f"{self.system} and Python {self.values['python_version']}"
