"""CUDA versions in the names of files: ``libx_cuda118.so``, ``cu13/libx.so``."""

from __future__ import annotations

import re

from msgspec import Struct

# Majors from 10 on: 80 and 90 stand for sm_80 and sm_90 more often than for CUDA 8.0 and 9.0.
_TAG = re.compile(
    r"(?<![0-9a-z])(?:cuda|cu)[-_]?v?(1[0-9])(?:[._]?([0-9]))?x?(?![0-9a-z])", re.IGNORECASE
)
_ANY = "*"


def major_of_tag(digits: str) -> int:
    """Return the major of the digits after ``cu``: 12 of 12 and 124, 9 of 92, 10 of 101."""
    return int(digits[:2]) if digits[0] == "1" and len(digits) > 1 else int(digits[0])


class TaggedPath(Struct, frozen=True):
    """A path that names a version of CUDA.

    Attributes:
        pattern: the path with ``*`` instead of the version: ``lib/libx_cuda*.so``.
        version: ``11.8``, ``12``; all of them in order if the path names several.
        folder: the innermost folder with a version in its name, as a path with a slash at the end.
            Empty if the file's own name has a version.
    """

    pattern: str
    version: str
    folder: str


def without_tags(name: str) -> str:
    """Return a name with ``*`` instead of CUDA versions: ``PyInit_x_cu12`` -> ``PyInit_x_cu*``."""
    return _TAG.sub(lambda tag: tag[0][: tag.start(1) - tag.start()] + _ANY, name)


def tagged_path(path: str) -> TaggedPath | None:
    """Return the versions of CUDA in a path, joined by ``/``; None if it names none."""
    found = list(_TAG.finditer(path))
    if not found:
        return None
    versions = dict.fromkeys(".".join(filter(None, match.groups())) for match in found)
    end = found[-1].end()
    folder = path[: path.index("/", end) + 1] if "/" in path[end:] else ""
    return TaggedPath(without_tags(path), "+".join(versions), folder)
