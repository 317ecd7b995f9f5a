"""The two sorts of recipes: a sample that is made, and one that is broken from a made one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from product import Image, Product
from workshop import Workshop


@dataclass(frozen=True)
class Sample:
    """A file, and how it is made."""

    path: str
    make: Callable[[Workshop], Product]


@dataclass(frozen=True)
class Broken:
    """A file made from the sample `original` by one small edit."""

    path: str
    original: str
    how: str
    edit: Callable[[bytes], bytes]


def sass(arch: str, release: str, compression: str = "none", relocatable: bool = False) -> Image:
    """A cubin compiled by one release."""
    return Image("sass", arch, (release,), compression=compression, relocatable=relocatable)


def compression(release: str, mode: str = "default") -> str:
    """What a fatbin writer of a release compresses with in a mode (formats.md, section 1.7)."""
    if mode == "none":
        return "none"
    lz4 = mode == "speed" or (mode == "default" and int(release.partition(".")[0]) < 13)
    return "lz4" if lz4 else "zstd"
