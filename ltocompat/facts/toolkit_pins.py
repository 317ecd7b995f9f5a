"""What the metapackage cuda-toolkit and NVIDIA's libraries bring of nvJitLink and NVRTC."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ltocompat.facts.tables import table


@dataclass(frozen=True, slots=True)
class ToolkitPin:
    """What one version of cuda-toolkit asks for.

    Attributes:
        toolkit: version of cuda-toolkit, e.g. ``13.0.3.0``.
        part: ``nvjitlink`` or ``nvrtc``.
        package: name of the package that it asks for.
        specifier: the versions of that: ``==13.0.88.*`` or ``>=13.0.88,<14``.
        extras: the extras of cuda-toolkit that lead there.
    """

    toolkit: str
    part: str
    package: str
    specifier: str
    extras: frozenset[str]


@functools.cache
def toolkit_pins() -> tuple[ToolkitPin, ...]:
    """All of them, oldest toolkit first."""
    return tuple(
        ToolkitPin(
            row["toolkit"], row["part"], row["package"], row["specifier"], frozenset(row["extras"])
        )
        for row in table("toolkit_pins")["pin"]
    )


@functools.cache
def brought_by_libraries() -> dict[tuple[str, str], str]:
    """(library's package, ``nvjitlink`` or ``nvrtc``) -> the package that its metadata asks for.

    They ask for any version of it.
    """
    rows = table("toolkit_pins")["library"]
    return {(row["library"], row["part"]): row["package"] for row in rows}
