"""Decompression as streams of bounded chunks, within the limits."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.files.archives.decoding import DECODERS, Input, Packing
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget


def unpacked(source: Input, packing: Packing, budget: Budget) -> Iterator[bytes]:
    """The decompressed bytes, in chunks of at most 256 KiB, none empty.

    Raises:
        Malformed: they don't decompress; chunks before that were given already.
        LimitExceeded: they are more than the limits allow.
    """
    total = 0
    for chunk in DECODERS[packing](source, budget):
        budget.check_time()
        total += len(chunk)
        budget.check_unpacked(source.position, total)
        budget.check_room(len(chunk))
        budget.unpacked += len(chunk)
        if chunk:
            yield chunk


class Stream:
    """Unpacked bytes, read from the front in pieces of any size."""

    __slots__ = ("_at", "_chunk", "_chunks")

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._chunk = b""
        self._at = 0

    def peek(self, size: int) -> bytes:
        """The next ``size`` bytes, fewer at the end; they stay."""
        if len(self._chunk) - self._at < size:
            parts = [self._chunk[self._at :]]
            have = len(parts[0])
            while have < size and (chunk := next(self._chunks, b"")):
                parts.append(chunk)
                have += len(chunk)
            self._chunk, self._at = b"".join(parts), 0
        return self._chunk[self._at : self._at + size]

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes, fewer at the end."""
        data = self.peek(size)
        self._at += len(data)
        return data

    def take(self, size: int) -> Iterator[bytes]:
        """The next ``size`` bytes in chunks.

        Raises:
            Malformed: the stream ends before.
        """
        left = size
        for chunk in self.up_to(size):
            left -= len(chunk)
            yield chunk
        if left:
            raise Malformed(f"it says {size} bytes, but the last {left} are missing")

    def up_to(self, size: int | None) -> Iterator[bytes]:
        """The next ``size`` bytes in chunks, or all that are left where they are fewer or None."""
        left = size
        while left is None or left > 0:
            if self._at == len(self._chunk):
                self._chunk, self._at = next(self._chunks, b""), 0
            if not self._chunk:
                return
            end = len(self._chunk) if left is None else min(len(self._chunk), self._at + left)
            part = self._chunk[self._at : end]
            self._at = end
            left = None if left is None else left - len(part)
            yield part
