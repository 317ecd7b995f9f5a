"""Finding the first bytes of device code anywhere in a file, window by window."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from ltocompat.files import codec
from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin import region
from ltocompat.files.images import cubin, ltoir
from ltocompat.files.magic_search import occurrences

NEEDLES = (region.NEEDLE, cubin.NEEDLE, ltoir.MAGIC, codec.ZSTD_MAGIC)

# Small enough that it stays in the processor's cache while it is searched for each needle.
_WINDOW = 256 << 10
_OVERLAP = max(map(len, NEEDLES)) - 1
# Images follow each other with at most this much padding (compilers align arrays to 32 bytes).
_PADDING = 64


class Hit(NamedTuple):
    """A needle and the offset where it was found."""

    offset: int
    needle: bytes


class Scanner:
    """Hits in file order; the caller moves on past what it understood with ``skip_to``."""

    def __init__(self, view: ByteView) -> None:
        self._view = view
        self._position = 0
        self._window_end = 0
        self._hits: deque[Hit] = deque()

    @property
    def position(self) -> int:
        """Everything in front of this offset was looked at or skipped."""
        return self._position

    def skip_to(self, offset: int) -> None:
        """Go on at ``offset``; never backwards."""
        self._position = max(self._position, offset)

    def __iter__(self) -> Iterator[Hit]:
        while (hit := self._adjacent() or self._next()) is not None:
            self._position = hit.offset + 1
            yield hit

    def _adjacent(self) -> Hit | None:
        """What follows with nothing but padding between: found without a scan."""
        head = self._view.peek(self._position, _PADDING + _OVERLAP + 1)
        padding = len(head) - len(head.lstrip(b"\0"))
        for needle in NEEDLES:
            if head.startswith(needle, padding):
                return Hit(self._position + padding, needle)
        return None

    def _next(self) -> Hit | None:
        while True:
            while self._hits:
                hit = self._hits.popleft()
                if hit.offset >= self._position:
                    return hit
            start = max(self._position, self._window_end)
            if start >= self._view.size:
                return None
            self._scan(start)

    def _scan(self, start: int) -> None:
        window = self._view.peek(start, _WINDOW + _OVERLAP)
        self._window_end = start + _WINDOW
        found = [(at, needle) for needle in NEEDLES for at in occurrences(needle, window)]
        self._hits.extend(Hit(start + at, needle) for at, needle in sorted(found) if at < _WINDOW)
