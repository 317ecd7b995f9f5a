"""The promise of a project on its packages, as its policy says it."""

from __future__ import annotations

from msgspec import Struct

from ltocompat.model.arch import Release, SmArch
from ltocompat.model.target import DriverVersion


class Promise(Struct, frozen=True):
    """The promise of a project.

    Attributes:
        source: the file that says so.
        sass: architectures that it has SASS for.
        ptx: architectures that it has PTX for.
        driver: the least driver; None for no promise.
        nvjitlink: the least nvJitLink; None for no promise.
    """

    source: str
    sass: tuple[SmArch, ...] = ()
    ptx: tuple[SmArch, ...] = ()
    driver: DriverVersion | None = None
    nvjitlink: Release | None = None
