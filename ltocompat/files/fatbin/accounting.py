"""Every byte of a known fatbin section is header, payload, padding, or reported."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin import region
from ltocompat.files.objects import ObjectFile

_WINDOW = 1 << 20


class Accounting:
    """What of the fatbin sections was covered so far; cover in file order.

    A file that begins like a region and has no host around it counts as one such section.
    """

    def __init__(self, view: ByteView, host: ObjectFile | None) -> None:
        self._view = view
        if host is not None:
            sections = [(s.offset, s.offset + s.size) for s in host.sections if s.fatbin]
        elif view.peek(0, len(region.MAGIC)) == region.MAGIC:
            sections = [(0, view.size)]
        else:
            sections = []
        self._sections = sections
        self._covered: list[tuple[int, int]] = []

    def cover(self, start: int, end: int) -> None:
        """Book the bytes from ``start`` to ``end`` (file offsets)."""
        if self._covered and start <= self._covered[-1][1]:
            start, end = self._covered[-1][0], max(end, self._covered[-1][1])
            self._covered.pop()
        self._covered.append((start, end))

    def gaps(self) -> Iterator[tuple[int, int]]:
        """Offset and size of every stretch of a fatbin section that is neither covered nor zero."""
        for begin, end in self._sections:
            at = begin
            for first, last in (*self._covered, (end, end)):
                if last <= at or at >= end:
                    continue
                if first > at and not self._zero(at, min(first, end)):
                    yield at, min(first, end) - at
                at = last

    def _zero(self, start: int, end: int) -> bool:
        for position in range(start, end, _WINDOW):
            data = self._view.peek(position, min(_WINDOW, end - position))
            if data.count(0) != len(data):
                return False
        return True
