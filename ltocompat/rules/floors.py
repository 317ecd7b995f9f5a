"""Floors from the tables, as values that constraints take."""

from __future__ import annotations

import functools

from ltocompat import facts
from ltocompat.facts import drivers, rows
from ltocompat.model.arch import Release, version_numbers
from ltocompat.model.target import DriverVersion


@functools.cache
def driver(name: str) -> DriverVersion:
    """Return a floor on drivers; a bare branch means its first production release."""
    numbers = version_numbers(facts.floor(name))
    return drivers.first_production(numbers[0]) if len(numbers) == 1 else DriverVersion(numbers)


@functools.cache
def linker(name: str) -> Release:
    """A floor on nvJitLinks."""
    return Release.parse(facts.floor(name))


@functools.cache
def major(number: int) -> DriverVersion | None:
    """Return the minimum driver for code of a major release (minor-version compatibility)."""
    row = drivers.major_floor(number)
    return None if row is None else drivers.first_production(row.branch)


@functools.cache
def enough_for_major(number: int) -> DriverVersion | None:
    """Return a driver for code of a major release older than the tables; None for others.

    Floors only rise, so the floor of the oldest known major is enough.
    """
    oldest = rows(drivers.MajorFloor)[0]
    return drivers.first_production(oldest.branch) if number < oldest.major else None
