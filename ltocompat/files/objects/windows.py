"""Reading long tables and sections piece by piece, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.files.byteview import ByteView
from ltocompat.model.limits import MIB, Budget

SCAN_WINDOW = MIB
TABLE_WINDOW = 8 * MIB


def windows(
    view: ByteView, budget: Budget, offset: int, size: int, *, step: int, overlap: int = 0
) -> Iterator[tuple[int, bytes]]:
    """The bytes from ``offset`` on, as (position, piece) with ``overlap`` bytes seen twice.

    Args:
        view: the file.
        budget: its time is checked before each piece.
        offset: first byte.
        size: number of bytes; clipped to the end of the file.
        step: distance between two pieces, bytes.
        overlap: bytes of the next piece that each piece also has.
    """
    end = min(offset + size, view.size)
    for position in range(offset, end, step):
        budget.check_time()
        yield position, view.read(position, min(step + overlap, end - position))


def occurrences(
    view: ByteView, budget: Budget, offset: int, size: int, needle: bytes
) -> Iterator[int]:
    """Every position of ``needle`` in that stretch of the file, ascending."""
    overlap = len(needle) - 1
    for start, piece in windows(view, budget, offset, size, step=SCAN_WINDOW, overlap=overlap):
        found = piece.find(needle)
        while found >= 0:
            yield start + found
            found = piece.find(needle, found + 1)
