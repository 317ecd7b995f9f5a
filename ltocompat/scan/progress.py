"""How far the reading of a file has come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the input file at hand has been read: path, bytes done, bytes in all."""

    path: str
    done: int
    total: int


def reporter(
    progress: Callable[[Progress], None] | None,
) -> Callable[[str, int, int], None] | None:
    """The callback that the inventory wants, from the one that callers give."""
    if progress is None:
        return None
    return lambda path, done, total: progress(Progress(path, done, total))
