"""Where things start: the least linker, driver or architecture for one behaviour, by name."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ltocompat.facts.tables import table


@dataclass(frozen=True, slots=True)
class Floor:
    """One floor.

    Attributes:
        name: ``zstd-driver``.
        value: a release, a driver version, a branch or an architecture's number, as text.
        source: where it was read, or what was measured.
        measured: tried with NVIDIA's own libraries; else read.
    """

    name: str
    value: str
    source: str
    measured: bool


@functools.cache
def _floors() -> dict[str, Floor]:
    return {
        row["name"]: Floor(row["name"], row["value"], row["source"], row["measured"])
        for row in table("floors")["floor"]
    }


def floor(name: str) -> Floor:
    """The floor of this name.

    Raises:
        KeyError: no row has it, which is a mistake in the calling code.
    """
    return _floors()[name]
