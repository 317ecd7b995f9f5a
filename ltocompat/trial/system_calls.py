"""System calls that processes of a trial may make, by their numbers on each processor.

``system_calls.toml`` has them, what each sort is for, and where they come from.
"""

from __future__ import annotations

import pkgutil
import tomllib

PROCESSORS = ("x86_64", "aarch64")
# The last system call, on both processors, that was decided on for trials.
NEWEST = 466
_DATA = pkgutil.get_data(__name__, "system_calls.toml") or b""
_NUMBERS: dict[str, dict[str, list[int]]] = tomllib.loads(_DATA.decode("utf-8"))


def numbers(processor: str) -> dict[str, int]:
    """Return the numbers of this processor's system calls by name."""
    column = PROCESSORS.index(processor)
    found = ((name, row[column]) for group in _NUMBERS.values() for name, row in group.items())
    return {name: number for name, number in found if number >= 0}


def calls_of(*groups: str) -> frozenset[str]:
    """Return the names of the system calls in these groups of the table."""
    return frozenset(name for group in groups for name in _NUMBERS[group])
