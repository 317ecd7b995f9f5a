"""The least version that meets several constraints: their floors folded, and judged as a check."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic

from msgspec import Struct

from ltocompat.model.verdict import Verdict
from ltocompat.rules.rule import Constraint, Floor, Unbounded, VersionT


class LeastVersion(Struct, Generic[VersionT], frozen=True):
    """The least version that meets all of some constraints.

    Attributes:
        possible: an older one fails; None where nothing is asked, or nothing is known to do.
        sure: it and newer ones surely do; None where that is not known.
        unbounded: why there is no possible one; None where there is.
    """

    possible: VersionT | None = None
    sure: VersionT | None = None
    unbounded: Unbounded | None = None


def least_version(constraints: Iterable[Constraint]) -> LeastVersion[Any]:
    """The least driver, or the least linker, that meets constraints on it."""
    known = tuple(dict.fromkeys(constraints))
    floors = [constraint.floor() for constraint in known]
    if Unbounded.NONE_KNOWN in floors:
        return LeastVersion(unbounded=Unbounded.NONE_KNOWN)
    bounded = [floor for floor in floors if isinstance(floor, Floor)]
    if not bounded:
        open_ = Unbounded.NOT_KNOWN in floors
        return LeastVersion(unbounded=Unbounded.NOT_KNOWN if open_ else Unbounded.ANY)
    versions = sorted({version for floor in bounded for version in (floor.possible, floor.sure)})
    least = max(floor.possible for floor in bounded)
    possible = _first(versions, least, known, Verdict.UNKNOWN)
    if possible is None:  # one asks for more than another allows
        return LeastVersion(unbounded=Unbounded.NONE_KNOWN)
    least = max(floor.sure for floor in bounded)
    return LeastVersion(possible, _first(versions, least, known, Verdict.UNDOCUMENTED))


def _first(
    versions: list[VersionT], least: VersionT, constraints: tuple[Constraint, ...], most: Verdict
) -> VersionT | None:
    """The first version from ``least`` on that no constraint judges worse than ``most``."""
    for version in versions:
        judged = max(constraint.judge(version) for constraint in constraints)
        if version >= least and judged <= most:
            return version
    return None
