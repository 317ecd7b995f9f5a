"""System calls that processes of a trial may make, by their numbers on each processor.

``system_calls.toml`` has them, and where they come from.
"""

from __future__ import annotations

import pkgutil
import tomllib

PROCESSORS = ("x86_64", "aarch64")
NEWEST = 466
"""The last call, on both, of which it was decided whether a trial may make it."""
_DATA = pkgutil.get_data(__name__, "system_calls.toml") or b""
_NUMBERS: dict[str, dict[str, list[int]]] = tomllib.loads(_DATA.decode("utf-8"))


def numbers(processor: str) -> dict[str, int]:
    """Return the number of each call that this processor has, by its name."""
    column = PROCESSORS.index(processor)
    found = ((name, row[column]) for group in _NUMBERS.values() for name, row in group.items())
    return {name: number for name, number in found if number >= 0}


COMPUTING = frozenset(_NUMBERS["computing"])
"""Make bytes of bytes, in memory, with threads and clocks of its own."""
LOOKING = frozenset(_NUMBERS["looking"])
"""Find and open files, as a loader of libraries does."""
FORKING = frozenset(_NUMBERS["forking"])
"""Start processes: of our own process alone, before code of an input is at work."""
CONFINING = frozenset(_NUMBERS["confining"])
"""Confine itself further, likewise."""
MAKING = frozenset(_NUMBERS["making"])
"""Lay out a folder for a program: of our own process alone."""
STARTING = frozenset(_NUMBERS["starting"])
"""Become the program that may be started."""
DRIVING = frozenset(_NUMBERS["driving"])
"""Use a driver."""
SERVICE = frozenset(_NUMBERS["service"])
"""Speak with the driver's multi-process service."""
OLDER_INSTEAD = frozenset(_NUMBERS["older_instead"])
"""Calls whose flags lie in memory, which no filter can read: libc then takes the older call."""
