"""Texts about drivers (``550.54.15``, ``550``, ``>=550``) -> the drivers that they mean."""

from __future__ import annotations

import re

from ltocompat.facts import drivers
from ltocompat.model.errors import UsageError
from ltocompat.model.target import DriverVersion, Quantifier, VersionSet
from ltocompat.targets.versions.comparisons import (
    Clause,
    admitted,
    is_range,
    read_clauses,
    read_numbers,
)

_RELEASE = re.compile(r"([0-9]{3,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?")
# Stands for every release of a branch behind its first production release; higher than any.
LATER = 9999
# NVIDIA's way to write a branch: R550.
_BRANCH = re.compile(r"[Rr](?=[0-9]{3})")
LEAST_BRANCH = 100


def read_driver(text: str, source: str) -> VersionSet[DriverVersion]:
    """Return the drivers that ``text`` means.

    A bare branch means its first production release or a later one. A range means every branch in
    it, by the first production release in the range. ``535+580`` means both,
    ``535.54.03|580.65.06`` one of them. A number that is not in the tables is used unchanged.

    Args:
        text: one version, a range or several.
        source: the source of the text.

    Raises:
        UsageError: it is not a version, or no known driver is in the range.
    """
    if is_range(text):
        return VersionSet(text, _in_range(text), quantifier=Quantifier.ALL, source=source)
    if "+" in text:
        several = {_first(part, text) for part in text.split("+")}
        return VersionSet(text, tuple(sorted(several)), quantifier=Quantifier.ALL, source=source)
    several = {driver for part in text.split("|") for driver in _releases(part, text)}
    return VersionSet(text, tuple(sorted(several)), quantifier=Quantifier.ONE_OF, source=source)


def least_driver(value: object) -> DriverVersion:
    """Return the minimum in a policy: a release, or the first production release of a branch.

    Raises:
        UsageError: it is not a version.
    """
    number = isinstance(value, int) and not isinstance(value, bool)
    text = str(value) if isinstance(value, str) or number else ""
    return _first(text, text)


def later(branch: int) -> DriverVersion:
    """Return the placeholder for a branch's releases after its first production release."""
    return DriverVersion((branch, LATER), f"a later {branch}")


def _releases(part: str, text: str) -> tuple[DriverVersion, ...]:
    """Return the drivers that one version can mean."""
    driver = _one(part, text)
    if driver.branch not in drivers.driver_branches():
        return (driver,)
    if len(driver.numbers) == 1:
        return drivers.first_production(driver.branch), later(driver.branch)
    # 550.54 is 550.54.14 or 550.54.15; 570.26 is itself a release.
    known = drivers.driver_releases(driver.branch)
    if driver in known:
        return (driver,)
    size = len(driver.numbers)
    meant = tuple(version for version in known if version.numbers[:size] == driver.numbers)
    return meant or (driver,)


def _first(part: str, text: str) -> DriverVersion:
    """One version, or the first production release of a branch."""
    driver = _one(part, text)
    if len(driver.numbers) == 1 and driver.branch in drivers.driver_branches():
        return drivers.first_production(driver.branch)
    return driver


def _one(part: str, text: str) -> DriverVersion:
    numbers = read_numbers(_BRANCH.sub("", part.strip()))
    whole = "" if part == text else f" (in {text!r})"
    if numbers is not None and numbers[0] < LEAST_BRANCH:
        raise UsageError(
            f"{part!r}{whole} is a CUDA release, not a driver; write cuda={part.strip()}, or the "
            "driver itself, as in driver=550.54.15"
        )
    if numbers is None:
        raise UsageError(
            f"{part!r}{whole} is not a driver; write driver=550.54.15, driver=550 or "
            "'driver>=550,<590'"
        )
    return later(numbers[0]) if numbers[1:] == (LATER,) else drivers.driver_of(numbers)


def _in_range(text: str) -> tuple[DriverVersion, ...]:
    clauses = read_clauses(text)
    for clause in clauses:
        _one(".".join(map(str, clause.numbers)), text)  # a CUDA release is not a driver
    lows = [DriverVersion(clause.numbers) for clause in clauses if clause.is_low_end]
    lows = [low for low in lows if admitted(low.numbers, clauses)]
    branches = drivers.driver_branches()
    found = [first for branch in branches for first in _first_in(branch, lows, clauses)]
    found += [low for low in lows if low.branch not in branches]
    if not found:
        raise UsageError(
            f"the tables have no driver {text}; they have the branches "
            f"{', '.join(str(branch) for branch in branches)}"
        )
    return tuple(sorted(set(found)))


def _first_in(
    branch: int, lows: list[DriverVersion], clauses: tuple[Clause, ...]
) -> tuple[DriverVersion, ...]:
    """The release of a branch that stands for it in a range: its low end, else the first."""
    own = [low for low in lows if low.branch == branch and len(low.numbers) > 1]
    known = sorted(drivers.driver_releases(branch))
    for driver in (*own, drivers.first_production(branch), *known, later(branch)):
        if admitted(driver.numbers, clauses):
            return (driver,)
    return ()


def driver_version(text: str) -> DriverVersion | None:
    """Return the driver of a text that is exactly such a number, ``580.95.05``; else None."""
    match = _RELEASE.fullmatch(text.strip())
    return drivers.driver_of(tuple(map(int, filter(None, match.groups())))) if match else None


def driver_version_in_name(file: str) -> DriverVersion | None:
    """Of ``libcuda.so.580.95.05``."""
    return driver_version(file.partition(".so.")[2])
