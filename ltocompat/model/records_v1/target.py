"""A deploy target in JSON."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model.records_v1.base import Record, described, one_of


class System(Record):
    """Operating system and processor."""

    name: Annotated[str, one_of("linux", "windows", "wsl2")]
    machine: str


class VersionSet(Record):
    """What a target says of one of its parts."""

    text: Annotated[str, described("As it was written.")]
    values: Annotated[tuple[str, ...], described("What that can be, oldest first.")]
    every: Annotated[
        bool, described("Each of the values must work (a range); else it is one of them.")
    ]
    source: Annotated[str, described("Who said so: given, a file, stock 12.4.")]


class Gpu(Record):
    """A GPU that code is deployed to."""

    name: str
    arch: str
    data_center: bool | None
    tegra: bool


class Target(Record):
    """Where device code is going."""

    name: str
    system: System
    driver: VersionSet | None
    compat: VersionSet | None
    nvjitlink: VersionSet | None
    nvrtc: VersionSet | None
    nvlink: VersionSet | None
    gpus: tuple[Gpu, ...]
    sources: dict[str, str]
