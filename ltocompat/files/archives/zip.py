"""Zip archives (wheels, .conda packages), read by their central directory, as installers do.

Not read with ``zipfile``: it refuses an archive of which one record is wrong, where members before
it can be read; it holds the directory and an object for each member in memory before the first is
seen; it views no stored member in place; and it sees nothing between members or behind the end.
"""

from __future__ import annotations

import stat
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from ltocompat.files.archives.decoding import Input, Packing
from ltocompat.files.archives.member import Member, concerns
from ltocompat.files.archives.naming import Names
from ltocompat.files.archives.spool import Spool
from ltocompat.files.archives.unpacking import Stream, unpacked
from ltocompat.files.archives.zip_directory import (
    END_MAGIC,
    LOCAL_MAGIC,
    End,
    ZipEntry,
    entries,
    find_end,
    is_whole,
    local_header,
)
from ltocompat.files.byteview import ByteView
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.image import Skipped
from ltocompat.model.limits import MIB, Budget
from ltocompat.model.place import Place

_STORED = 0
_METHODS = {
    8: Packing.DEFLATE,
    12: Packing.BZIP2,
    14: Packing.ZIP_LZMA,
    93: Packing.ZSTD,
}
# What begins as a program or as a fatbin is one, whatever its payload ends with.
_NO_ARCHIVES = (b"\x7fEL", b"MZ", b"\x50\xed\x55\xba")
# Descriptors of members (24 bytes) and alignment; no device code is as short.
_SMALL_GAP = 64
_LONGEST_LINK = 4096


class ZipFormat:
    """Zip archives; stored members are viewed in place."""

    def sniff(self, view: ByteView) -> bool:
        """Whether this is a zip; one behind other bytes is recognised, too."""
        head = view.peek(0, 4)
        if head in (LOCAL_MAGIC, END_MAGIC):
            return True
        return not head.startswith(_NO_ARCHIVES) and is_whole(view)

    def members(
        self, view: ByteView, place: Place, wanted: Place, budget: Budget
    ) -> Iterator[Member | Skipped]:
        """The members in the order of the directory."""
        try:
            end = find_end(view)
        except Malformed as error:
            yield Skipped(place, f"the archive can't be read: {error}", view.size)
            return
        walk = _ZipWalk(view, place, wanted, budget, _headers(view, end, budget))
        try:
            yield from walk.members(end)
        except LimitExceeded:
            raise
        except Malformed as error:
            yield Skipped(place, f"the archive can't be read on: {error}")
        yield from walk.behind(end)


def _headers(view: ByteView, end: End, budget: Budget) -> array[int]:
    """Offsets of all member headers, ascending, and the offset of the directory."""
    found = array("Q", [end.start])
    try:
        for entry in entries(view, end):
            found.append(min(entry.header, view.size))
            if len(found) > budget.limits.members + 1:
                break
            if len(found) % 1024 == 0:
                budget.check_time()
    except LimitExceeded:
        raise
    except Malformed:
        # The walk comes to the same record and says so.
        pass
    if len(found) > budget.limits.members + 1:
        raise LimitExceeded("members", f"the archive has over {budget.limits.members} members")
    return array("Q", sorted(found))


class _ZipWalk:
    """One walk through one archive."""

    def __init__(
        self, view: ByteView, place: Place, wanted: Place, budget: Budget, headers: array[int]
    ) -> None:
        self._view = view
        self._place = place
        self._wanted = wanted
        self._budget = budget
        self._headers = headers
        self._names = Names(place, budget.limits)
        self._spool = Spool()
        self._shared: set[int] = set()
        self._spans: list[tuple[int, int]] = []

    def members(self, end: End) -> Iterator[Member | Skipped]:
        if end.disks:
            raise Malformed("it is one of several disks; join them first")
        count = 0
        for entry in entries(self._view, end):
            count += 1
            self._budget.check_time()
            yield from self._member(entry)
        if count & 0xFFFF != end.members & 0xFFFF:
            yield Skipped(self._place, f"its end says {end.members} members, but there are {count}")

    def _member(self, entry: ZipEntry) -> Iterator[Member | Skipped]:
        name = entry.name
        if name.endswith("/") and not entry.unpacked:
            yield from self._names.folder(name)
            self._spans.append((entry.header, entry.header + len(entry.raw_name)))
            return
        place, problems = self._names.take(name)
        if not concerns(place, self._wanted):
            return
        if name.endswith("/"):
            problems.append(f"its name is that of a folder, but it holds {entry.unpacked} bytes")
        yield from (Skipped(place, problem) for problem in problems)
        try:
            data, problems = self._data(entry)
            yield from (Skipped(place, problem) for problem in problems)
            view, problems = self._unpack(entry, data)
        except Malformed as error:
            limit = error.limit if isinstance(error, LimitExceeded) else None
            if limit == "seconds":
                raise
            yield Skipped(place, str(error), entry.packed, limit)
            return
        yield from (Skipped(place, problem) for problem in problems)
        if stat.S_ISLNK(entry.mode) and view.size <= _LONGEST_LINK:
            target = view.all().decode("utf-8", "surrogateescape")
            yield from self._names.link_at(place, name, target, self._wanted, hard=False)
            return
        yield Member(place, view, entry.header)

    def _data(self, entry: ZipEntry) -> tuple[ByteView, list[str]]:
        """The stored bytes of a member, which no other may share, and what is wrong with them."""
        start, problems = local_header(self._view, entry)
        end = start + entry.packed
        self._spans.append((entry.header, end))
        following = bisect_right(self._headers, entry.header)
        if following - bisect_left(self._headers, entry.header) > 1:
            if entry.header in self._shared:
                raise Malformed(f"it shares the header at {entry.header:#x} with another member")
            self._shared.add(entry.header)
        if following < len(self._headers) and end > self._headers[following]:
            raise Malformed(
                f"its {entry.packed} bytes at {start:#x} overlap what begins at "
                f"{self._headers[following]:#x}"
            )
        return self._view.sub(start, entry.packed), problems

    def _unpack(self, entry: ZipEntry, data: ByteView) -> tuple[ByteView, list[str]]:
        """The bytes of a member, and what is wrong with them."""
        if entry.encrypted:
            raise Malformed("it is encrypted")
        checked = _Checked()
        if entry.method == _STORED:
            if entry.packed != entry.unpacked:
                raise Malformed(f"it is stored, but says {entry.packed} and {entry.unpacked} bytes")
            checked.all(data, self._budget)
            checked.check(entry.crc)
            return data, []
        if entry.method not in _METHODS:
            raise Malformed(f"its compression method {entry.method} is not read here")
        self._budget.check_unpacked(entry.packed, entry.unpacked)
        self._budget.check_room(entry.unpacked)
        source = Input(data)
        stream = Stream(unpacked(source, _METHODS[entry.method], self._budget))
        view = self._spool.keep(checked.through(stream.up_to(entry.unpacked)), entry.unpacked)
        checked.check(entry.crc)
        return view, _contradictions(entry, view.size, stream, source)

    def behind(self, end: End) -> Iterator[Skipped]:
        """Bytes that belong to no member, links that lead nowhere; once all was asked for."""
        if self._wanted != self._place:
            return
        yield from self._names.broken_links()
        position = 0
        for start, stop in sorted([*self._spans, (end.start, end.whole), (self._view.size,) * 2]):
            if start - position > _SMALL_GAP and not self._zero(position, start):
                reason = f"{start - position} bytes of the archive belong to no member"
                yield Skipped(self._place.at(position), reason, start - position)
            position = max(position, stop)

    def _zero(self, start: int, end: int) -> bool:
        chunks = (self._view.peek(at, min(MIB, end - at)) for at in range(start, end, MIB))
        return not any(chunk.count(0) != len(chunk) for chunk in chunks)


class _Checked:
    """The CRC-32 of bytes as they pass."""

    def __init__(self) -> None:
        self._crc = 0

    def through(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self._crc = zlib.crc32(chunk, self._crc)
            yield chunk

    def all(self, view: ByteView, budget: Budget) -> None:
        for at in range(0, view.size, MIB):
            budget.check_time()
            self._crc = zlib.crc32(view.peek(at, MIB), self._crc)

    def check(self, number: int) -> None:
        if self._crc != number:
            raise Malformed(f"its CRC-32 is {self._crc:08x}, but the archive says {number:08x}")


def _contradictions(entry: ZipEntry, size: int, stream: Stream, source: Input) -> list[str]:
    """Where the size of a member is not what was said; zipfile says nothing of it."""
    if size < entry.unpacked:
        return [f"it unpacks to {size} bytes, not to the {entry.unpacked} that it says"]
    try:
        more = bool(stream.peek(1))
    except Malformed as error:
        return [f"behind its {size} bytes: {error}"]
    if more:
        return [f"it unpacks to more than the {size} bytes that it says; only they are read"]
    if source.left:
        return [f"{source.left} bytes behind its compressed data are not read"]
    return []
