"""The one place that reads integers and strings out of bytes, always bounds-checked.

A view is a window on a file or on bytes in memory. Files are read with positioned reads instead of
a memory map: a map of a file that shrinks kills the process, and its pages count as our memory.
"""

from __future__ import annotations

import functools
import os
import struct
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct

from ltocompat.model.errors import LimitExceeded, Malformed, UnreadableInput
from ltocompat.model.limits import MIB

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

    from ltocompat.model.limits import Budget

AnyText = TypeVar("AnyText", str, bytes)


class Source(Protocol):
    """Random-access bytes of a known size."""

    @property
    def size(self) -> int:
        """Number of bytes."""

    def pread(self, size: int, offset: int) -> bytes:
        """Return at most ``size`` bytes from ``offset``; the caller has checked the bounds."""


class MemorySource:
    """Bytes in memory."""

    __slots__ = ("_data", "size")

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self._data = memoryview(data)
        self.size = len(self._data)

    def pread(self, size: int, offset: int) -> bytes:
        """Copy a slice."""
        return bytes(self._data[offset : offset + size])


# Headers are read in many small steps, and a system call costs more than copying a block.
_SMALL = 16 << 10
_BLOCK = 32 << 10
_WINDOW = 256 << 10


class FileSource:
    """An open file, read by position from any thread.

    The file descriptor belongs to the caller, who closes it after the last read.
    """

    __slots__ = ("_block", "_fd", "_lock", "size")

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        # One value, replaced as a whole, so that threads never see half of it.
        self._block = (0, b"")
        self.size = os.fstat(fd).st_size

    def pread(self, size: int, offset: int) -> bytes:
        """Read; small reads use the last block if it has the bytes."""
        if size > _SMALL:
            return self._pread(size, offset)
        start, data = self._block
        at = offset - start
        if at < 0 or at + size > len(data):
            at, data = 0, self._pread(_BLOCK, offset)
            self._block = offset, data
        return data[at : at + size]

    def _pread(self, size: int, offset: int) -> bytes:
        """Read by position; where the system has no such call, seek and read under a lock."""
        try:
            if hasattr(os, "pread"):
                return os.pread(self._fd, size, offset)
            with self._lock:
                os.lseek(self._fd, offset, os.SEEK_SET)
                return os.read(self._fd, size)
        except OSError as error:
            message = f"reading at offset {offset:#x} failed: {error.strerror}"
            raise UnreadableInput(message) from error


class ByteView:
    """A bounded, read-only window on a source; offsets count from the start of the window.

    Every read outside the window raises ``Malformed``. Integers are little-endian.
    """

    __slots__ = ("size", "source", "start")

    def __init__(self, source: Source, start: int = 0, size: int | None = None) -> None:
        available = source.size - start
        self.source = source
        self.start = start
        self.size = available if size is None else size
        if start < 0 or self.size < 0 or self.size > available:
            raise Malformed(
                f"{self.size} bytes at {start:#x} are outside the {source.size} bytes of the file"
            )

    @classmethod
    def of(cls, data: bytes | bytearray | memoryview) -> ByteView:
        """Return a view of bytes in memory."""
        return cls(MemorySource(data))

    def read(self, offset: int, size: int) -> bytes:
        """Return exactly ``size`` bytes at ``offset``."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise Malformed(f"{size} bytes at {offset:#x} are outside {self.size} bytes of data")
        data = self.source.pread(size, self.start + offset)
        while len(data) < size:
            more = self.source.pread(size - len(data), self.start + offset + len(data))
            if not more:
                raise UnreadableInput("the file became shorter while it was read; run again")
            data += more
        return data

    def peek(self, offset: int, size: int) -> bytes:
        """Return at most ``size`` bytes at ``offset``: fewer, or none, at the end of the window."""
        left = self.size - offset
        if offset < 0 or left <= 0:
            return b""
        # Not by ``read``, which checks all of that again: headers are peeked at a million times.
        wanted = min(size, left)
        data = self.source.pread(wanted, self.start + offset)
        return data if len(data) == wanted else self.read(offset, wanted)

    def unpack(self, layout: struct.Struct, offset: int) -> tuple[int, ...]:
        """Return the fields of ``layout`` at ``offset``."""
        return layout.unpack(self.read(offset, layout.size))

    def u16(self, offset: int) -> int:
        """A 16-bit integer."""
        return int.from_bytes(self.read(offset, 2), "little")

    def u32(self, offset: int) -> int:
        """A 32-bit integer."""
        return int.from_bytes(self.read(offset, 4), "little")

    def text(self, offset: int, limit: int) -> str:
        """Return a NUL-terminated string of at most ``limit`` bytes; invalid UTF-8 is replaced."""
        return self.peek(offset, limit).partition(b"\0")[0].decode("utf-8", "replace")

    def sub(self, offset: int, size: int) -> ByteView:
        """Return a window inside this one."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise Malformed(f"{size} bytes at {offset:#x} are outside {self.size} bytes of data")
        view = ByteView.__new__(ByteView)  # whose bounds were checked
        view.source, view.start, view.size = self.source, self.start + offset, size
        return view

    def all(self) -> bytes:
        """Return every byte of the window, which must be small."""
        return self.read(0, self.size)


class NamesOfTable(Struct):
    """The account of the names from one table.

    Attributes:
        most: the largest sum of their bytes.
        kept: the sum so far.
    """

    most: int
    kept: int = 0

    def keep(self, name: AnyText) -> AnyText:
        """Book a name and return it; raise ``LimitExceeded`` if all names are too long."""
        self.kept += len(name)
        if self.kept > self.most:
            raise LimitExceeded(
                "names_bytes",
                f"all names of one table take more than {self.most} bytes (Limits.names_bytes)",
            )
        return name


def chunks(view: ByteView, start: int, end: int, budget: Budget | None = None) -> Iterator[bytes]:
    """Yield the bytes from ``start`` to ``end`` in pieces; a budget limits the time."""
    for at in range(start, end, MIB):
        if budget is not None:
            budget.check_time()
        yield view.read(at, min(MIB, end - at))


def digest_of(data: Iterable[bytes]) -> bytes:
    """Return the SHA-256 of bytes in pieces."""
    # Imported here: most files state no sum.
    import hashlib

    digest = hashlib.sha256()
    for chunk in data:
        digest.update(chunk)
    return digest.digest()


def is_zero(view: ByteView, start: int, end: int, budget: Budget) -> bool:
    """Return whether there are only zeros from ``start`` to ``end``, or to the end of the view."""
    end = min(end, view.size)
    return all(chunk.count(0) == len(chunk) for chunk in chunks(view, start, end, budget))


def occurrences(needle: bytes, data: bytes | memoryview) -> list[int]:
    """Return the offsets of ``needle`` in ``data``, ascending, not overlapping.

    It runs without the interpreter's lock. There is one automaton per needle: for a single pattern,
    the library uses vector instructions throughout. Four such passes were three times as fast as
    one pass for four patterns, and six times as fast as ``bytes.find``.
    """
    return [at for _, at, _ in _automaton(needle).find_matches_as_indexes(data)]


def offsets(needles: Sequence[bytes], data: bytes) -> Iterator[int]:
    """Yield the offsets of several needles in ``data``, ascending.

    They are searched window by window, since hostile bytes may have millions.
    """
    view, beyond = memoryview(data), max(map(len, needles)) - 1
    for start in range(0, len(data), _WINDOW):
        window = view[start : start + _WINDOW + beyond]
        found = sorted(at for needle in needles for at in occurrences(needle, window))
        yield from (start + at for at in found if at < _WINDOW)


def contains(needle: bytes, data: bytes) -> bool:
    """Return whether ``needle`` is in ``data``; if not, three times as fast as ``in``."""
    view, width = memoryview(data), _WINDOW + len(needle) - 1
    for start in range(0, len(data), _WINDOW):
        if occurrences(needle, view[start : start + width]):
            return True
    return False


@functools.cache
def _automaton(needle: bytes) -> BytesAhoCorasick:
    from ahocorasick_rs import BytesAhoCorasick

    return BytesAhoCorasick([needle])
