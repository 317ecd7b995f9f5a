"""File names of wheels (PEP 427, PEP 425).

Not by ``packaging.utils.parse_wheel_filename``, which refuses versions that are not of PEP 440, and
gives no platform as it was written: indexes hold wheels of both sorts.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from ltocompat.packages.values import normalized


class WheelName(NamedTuple):
    """The parts of a wheel's name.

    Attributes:
        project: normalized.
        version: as written.
        build: its build tag; empty if it has none.
        tags: one for each Python, ABI and platform: ``cp311-cp311-manylinux_2_28_x86_64``.
        platforms: the platforms of the tags, as written.
    """

    project: str
    version: str
    build: str
    tags: tuple[str, ...]
    platforms: tuple[str, ...]

    @classmethod
    def parse(cls, filename: str) -> WheelName | None:
        """Return the parts; None if it is not a wheel's name."""
        stem, dot, suffix = filename.rpartition(".")
        parts = stem.split("-")
        if not dot or suffix.lower() != "whl" or len(parts) not in (5, 6) or not all(parts):
            return None
        build = parts[2] if len(parts) == 6 else ""
        tags, platforms = tuple(single_tags("-".join(parts[-3:]))), tuple(parts[-1].split("."))
        return cls(normalized(parts[0]), parts[1], build, tags, platforms)


def single_tags(tag: str) -> Iterator[str]:
    """Yield the single tags of a compressed tag: ``py2.py3-none-any`` is two (PEP 425)."""
    return map("-".join, product(*(part.split(".") for part in tag.split("-"))))
