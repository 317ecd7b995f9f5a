"""Libraries that a way of loading finds, with their versions known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ltocompat.model.arch import Release
from ltocompat.model.library_name import LDSO, PATHFINDER

if TYPE_CHECKING:
    from ltocompat.model.environment import Environment

WAYS = (PATHFINDER, LDSO)


class Found(Struct, frozen=True):
    """A library that a loading method finds.

    Attributes:
        release: its minor release.
        version: ``12.4.127`` or ``12.4``.
        path: the file, after all links are followed.
        by: the loading method and its rule: ``cuda-pathfinder (site-packages)``.
    """

    release: Release
    version: str
    path: str
    by: str


def every(environment: Environment, library: str, way: str) -> list[Found]:
    """Return the copies of a library that a loading method finds, in its order."""
    return [
        Found(Release.parse(pick.version), pick.version, pick.real, f"{way} ({pick.found_by})")
        for pick in environment.picked(library, way)
        if pick.version and pick.real
    ]


def first(environment: Environment, library: str, way: str) -> Found | None:
    """The first of them."""
    return next(iter(every(environment, library, way)), None)
