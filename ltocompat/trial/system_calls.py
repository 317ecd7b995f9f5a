"""System calls that processes of a trial may make, by their numbers on each processor.

``system_calls.toml`` has them, what each sort is for, and where they come from.
"""

from __future__ import annotations

import pkgutil
import tomllib

PROCESSORS = ("x86_64", "aarch64")
NEWEST = 466
"""The last system call, on both processors, that was decided on for trials."""
_DATA = pkgutil.get_data(__name__, "system_calls.toml") or b""
_NUMBERS: dict[str, dict[str, list[int]]] = tomllib.loads(_DATA.decode("utf-8"))


def numbers(processor: str) -> dict[str, int]:
    """Return the numbers of this processor's system calls by name."""
    column = PROCESSORS.index(processor)
    found = ((name, row[column]) for group in _NUMBERS.values() for name, row in group.items())
    return {name: number for name, number in found if number >= 0}


COMPUTING = frozenset(_NUMBERS["computing"])
LOOKING = frozenset(_NUMBERS["looking"])
FORKING = frozenset(_NUMBERS["forking"])
CONFINING = frozenset(_NUMBERS["confining"])
MAKING = frozenset(_NUMBERS["making"])
STARTING = frozenset(_NUMBERS["starting"])
DRIVING = frozenset(_NUMBERS["driving"])
SERVICE = frozenset(_NUMBERS["service"])
OLDER_INSTEAD = frozenset(_NUMBERS["older_instead"])
