"""What a way of loading finds first, with its version known."""

from __future__ import annotations

from typing import NamedTuple

from ltocompat.model.arch import Release
from ltocompat.targets.machine.environment import Environment

PATHFINDER = "cuda-pathfinder"
LDSO = "ld.so"
WAYS = (PATHFINDER, LDSO)


class Found(NamedTuple):
    """A library that a way of loading finds.

    Attributes:
        release: its minor release.
        version: ``12.4.127`` or ``12.4``.
        path: the file, behind all links.
        by: the way, and its rule: ``cuda-pathfinder (site-packages)``.
    """

    release: Release
    version: str
    path: str
    by: str


def every(environment: Environment, library: str, way: str) -> list[Found]:
    """What a way finds for a library, in the order in which it asks."""
    return [
        Found(
            Release.parse(library_pick.version),
            library_pick.version,
            library_pick.real or library_pick.path,
            f"{way} ({library_pick.found_by})",
        )
        for library_pick in environment.picked(library, way)
        if library_pick.version and library_pick.path
    ]


def first(environment: Environment, library: str, way: str) -> Found | None:
    """The first of them."""
    return next(iter(every(environment, library, way)), None)
