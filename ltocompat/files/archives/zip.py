"""Zip archives (wheels, .conda packages), read by their central directory, as installers do.

Not read with ``zipfile``: it refuses an archive of which one record is wrong, where members before
it can be read; it holds the directory and an object for each member in memory before the first is
seen; it views no stored member in place; and it sees nothing between members or behind the end.

Source: PKWARE's APPNOTE 6.3.10, sections 4.3 (records) and 4.5.3 (64-bit sizes). As in Python's
zipfile, the directory lies right in front of its end record, whatever offset that says; so the
bytes in front of an archive (a self-extractor) are allowed for.
"""

from __future__ import annotations

import stat
import struct
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from ltocompat.files.archives.member import Member, Members, Names, concerns, until_damage
from ltocompat.files.archives.spool import Spool
from ltocompat.files.archives.unpacking import Stream, inflated, unpacked
from ltocompat.files.byteview import ByteView, chunks, is_zero
from ltocompat.files.codec import Input
from ltocompat.files.first_bytes import ZIP_END_MAGIC, ZIP_MAGIC, Packing, may_be_zip
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.image import Skipped
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location

_CENTRAL_MAGIC = b"PK\1\2"
_END64_MAGIC = b"PK\6\6"
_LOCATOR_MAGIC = b"PK\6\7"

# Each begins with its four bytes of magic.
_LOCAL = struct.Struct("<4x5H3L2H")
_CENTRAL = struct.Struct("<4x6H3L5H2L")
_END = struct.Struct("<4x4H2LH")
_END64 = struct.Struct("<4xQ2H2L4Q")
_LOCATOR = struct.Struct("<4xLQL")
_LONGEST_COMMENT = 0xFFFF
_FULL32 = 0xFFFFFFFF
_ZIP64_FIELD = 1
_ENCRYPTED, DESCRIPTOR, _UTF8 = 1 << 0, 1 << 3, 1 << 11
_UNIX = 3


class _End(Struct, frozen=True):
    """The end record: position and size of the directory.

    Attributes:
        start: offset of its first record.
        size: bytes of all its records.
        shift: what is to be added to its offsets: bytes in front of the archive.
        members: how many members it says there are.
        whole: offset behind the end record and its comment.
        disks: whether it says to be on several disks.
    """

    start: int
    size: int
    shift: int
    members: int
    whole: int
    disks: bool


class ZipEntry(Struct, frozen=True):
    """One member by the directory; sizes in bytes, ``header`` an offset in the file.

    Attributes:
        method: number of the compression method.
        mode: the mode of a Unix file; 0 if unknown.
    """

    raw_name: bytes
    flags: int
    method: int
    crc: int
    packed: int
    unpacked: int
    header: int
    mode: int

    @property
    def name(self) -> str:
        """The name in UTF-8 if the flag is set, else in code page 437, like zipfile."""
        if self.flags & _UTF8:
            return self.raw_name.decode("utf-8", "surrogateescape")
        return self.raw_name.decode("cp437")


def find_end(view: ByteView) -> _End:
    """The last end record of the file.

    Raises:
        Malformed: there is none, or its values are impossible.
    """
    tail = min(view.size, _END.size + _LONGEST_COMMENT)
    at = view.peek(view.size - tail, tail).rfind(ZIP_END_MAGIC)
    if at < 0 or tail - at < _END.size:
        raise Malformed("there is no end record; is the archive complete?")
    position = view.size - tail + at
    *numbers, _, count, size, offset, comment = view.unpack(_END, position)
    disks = any(numbers)
    end = position
    wide = _end64(view, position) if position >= _LOCATOR.size + _END64.size else None
    if wide is not None:
        end, disks, count, size, offset = wide
    start = end - size
    if start < 0 or offset > start:
        raise Malformed(
            f"its directory ({size} bytes at {offset:#x}) does not fit before its end record (at "
            f"{end:#x})"
        )
    whole = min(position + _END.size + comment, view.size)
    return _End(start, size, start - offset, count, whole, disks)


def _is_whole(view: ByteView) -> bool:
    """Return whether the file ends as a zip ends, down to the last byte."""
    try:
        end = find_end(view)
    except Malformed:
        return False
    first = view.peek(end.start, len(_CENTRAL_MAGIC))
    return end.whole == view.size and first in (_CENTRAL_MAGIC, ZIP_END_MAGIC, _END64_MAGIC)


def _end64(view: ByteView, position: int) -> tuple[int, bool, int, int, int] | None:
    """Offset of the 64-bit end record in front of the other, and what it says."""
    here = position - _LOCATOR.size
    if view.peek(here, len(_LOCATOR_MAGIC)) != _LOCATOR_MAGIC:
        return None
    first_disk, said, disks = view.unpack(_LOCATOR, here)
    at = here - _END64.size
    if view.peek(at, len(_END64_MAGIC)) != _END64_MAGIC:
        at = said
    if view.peek(at, len(_END64_MAGIC)) != _END64_MAGIC:
        raise Malformed(f"there is no 64-bit end record at {at:#x}")
    length, *_, disk, directory_disk, _, count, size, offset = view.unpack(_END64, at)
    # Behind its first 12 bytes it is as long as it says. Python's zipfile refuses the same.
    if at + 12 + length != here or offset + size != said:
        raise Malformed(f"the 64-bit end record at {at:#x} and its locator disagree")
    return at, bool(disk or directory_disk or first_disk or disks > 1), count, size, offset


def entries(view: ByteView, end: _End) -> Iterator[ZipEntry]:
    """Yield the records of the directory.

    Raises:
        Malformed: a record is damaged; the ones before it were yielded already.
    """
    position, stop = end.start, end.start + end.size
    while position < stop:
        if view.peek(position, len(_CENTRAL_MAGIC)) != _CENTRAL_MAGIC:
            raise Malformed(f"there is no directory record at {position:#x}")
        made_by, _, flags, method, _, _, crc, *rest = view.unpack(_CENTRAL, position)
        packed, unpacked, name_size, extra_size, comment_size, _, _, attributes, header = rest
        name = view.read(position + _CENTRAL.size, name_size)
        extra = view.read(position + _CENTRAL.size + name_size, extra_size)
        unpacked, packed, header = _wide_sizes(extra, unpacked, packed, header)
        mode = attributes >> 16 if made_by >> 8 == _UNIX else 0
        yield ZipEntry(name, flags, method, crc, packed, unpacked, header + end.shift, mode)
        position += _CENTRAL.size + name_size + extra_size + comment_size
    if position > stop:
        raise Malformed(f"the directory is longer than its {end.size} bytes")


def _wide_sizes(extra: bytes, *sizes: int) -> list[int]:
    """The sizes, with those that are full replaced by 64-bit ones, in the order they have there."""
    found = list(sizes)
    position = 0
    while position + 4 <= len(extra) and _FULL32 in sizes:
        kind, size = struct.unpack_from("<2H", extra, position)
        if kind == _ZIP64_FIELD:
            field = extra[position + 4 : position + 4 + size]
            for number, value in enumerate(sizes):
                if value == _FULL32:
                    if len(field) < 8:
                        raise Malformed("a 64-bit size is missing in its directory record")
                    found[number] = int.from_bytes(field[:8], "little")
                    field = field[8:]
            break
        position += 4 + size
    return found


def _local_header(view: ByteView, entry: ZipEntry) -> tuple[int, list[str]]:
    """Offset of a member's data, and where its own header contradicts the directory.

    Raises:
        Malformed: there is no header.
    """
    if view.peek(entry.header, len(ZIP_MAGIC)) != ZIP_MAGIC:
        raise Malformed(f"there is no member header at {entry.header:#x}")
    _, flags, method, _, _, crc, *rest = view.unpack(_LOCAL, entry.header)
    packed, unpacked, name_size, extra_size = rest
    at = entry.header + _LOCAL.size
    name = view.peek(at, name_size)
    extra = view.peek(at + name_size, extra_size)
    problems = []
    if name != entry.raw_name:
        shown = name[:100].decode("utf-8", "replace")
        problems.append(f"its local header names it {shown!r}; the directory's name is used")
    if method != entry.method:
        problems.append(
            f"its local header says method {method}; the directory says {entry.method} and counts"
        )
    if flags & _ENCRYPTED != entry.flags & _ENCRYPTED:
        problems.append("its own header and the directory disagree on whether it is encrypted")
    unpacked, packed = _wide_sizes(extra, unpacked, packed)
    numbers = ((crc, entry.crc), (packed, entry.packed), (unpacked, entry.unpacked))
    # With a descriptor behind the data each of these is zero, or already right.
    if any(said != right and (said or not flags & DESCRIPTOR) for said, right in numbers):
        problems.append(
            f"its own header says {packed} bytes that unpack to {unpacked} (CRC {crc:08x}); the "
            f"directory's values are used: {entry.packed}, {entry.unpacked}, {entry.crc:08x}"
        )
    return at + name_size + extra_size, problems


_STORED = 0
_DEFLATED = 8
_METHODS = {
    _DEFLATED: Packing.DEFLATE,
    12: Packing.BZIP2,
    14: Packing.ZIP_LZMA,
    93: Packing.ZSTD,
}
# Members of so many bytes are inflated at once; a thousand may be kept, as ``Spool`` says.
_SMALL = 64 << 10
# Descriptors of members (24 bytes) and alignment; no device code is as short.
_SMALL_GAP = 64
_LONGEST_LINK = 4096


def sniff(view: ByteView, _: Budget) -> bool:
    """Return whether this is a zip, also after other bytes."""
    first = view.peek(0, 4) in (ZIP_MAGIC, ZIP_END_MAGIC)
    return first or (may_be_zip(view) and _is_whole(view))


def begin(view: ByteView) -> int:
    """Return the offset of the first member of a zip that ends with the file.

    Raises:
        Malformed: the file ends otherwise, or the directory or its first member is damaged.
    """
    first = next(entries(view, find_end(view)), None) if _is_whole(view) else None
    if first is None:
        raise Malformed("the file doesn't end as a zip with members does")
    _local_header(view, first)
    return first.header


def members(view: ByteView, place: Location, wanted: Location, budget: Budget) -> Members:
    """Yield the members in the order of the directory."""
    try:
        end = find_end(view)
    except Malformed as error:
        yield Skipped(place, f"the archive can't be read: {error}", view.size)
        return
    names = Names(place, budget.limits)
    walk = _ZipWalk(view, place, wanted, budget, _headers(view, end, budget), names)
    yield from until_damage(walk.members(end), place)
    yield from walk.behind(end)


def _headers(view: ByteView, end: _End, budget: Budget) -> array[int]:
    """Offsets of all member headers, ascending, and the offset of the directory."""
    found = array("Q", [end.start])
    try:
        for entry in budget.members(entries(view, end)):
            found.append(min(entry.header, view.size))
    except LimitExceeded:
        raise
    except Malformed:
        # The walk comes to the same record and says so.
        pass
    return array("Q", sorted(found))


class _ZipWalk(Struct):
    """One walk through one archive."""

    _view: ByteView
    _place: Location
    _wanted: Location
    _budget: Budget
    _headers: array[int]
    _names: Names
    _spool: Spool = field(default_factory=Spool)
    _shared: set[int] = field(default_factory=set)
    _spans: list[tuple[int, int]] = field(default_factory=list)

    def members(self, end: _End) -> Members:
        if end.disks:
            raise Malformed("it is one of several disks; join them first")
        count = 0
        for entry in entries(self._view, end):
            count += 1
            self._budget.check_time()
            yield from self._member(entry)
        if count & 0xFFFF != end.members & 0xFFFF:
            yield Skipped(self._place, f"its end record says {end.members} members, not {count}")

    def _member(self, entry: ZipEntry) -> Members:
        name = entry.name
        if name.endswith("/") and not entry.unpacked:
            yield from self._names.folder(name)
            self._spans.append((entry.header, entry.header + len(entry.raw_name)))
            return
        place, problems = self._names.take(name)
        if not concerns(place, self._wanted):
            return
        if name.endswith("/"):
            problems.append(f"its name is a folder's name, but it has {entry.unpacked} bytes")
        yield from (Skipped(place, problem) for problem in problems)
        try:
            data, problems = self._data(entry)
            yield from (Skipped(place, problem) for problem in problems)
            view, problems = self._unpack(entry, data)
        except Malformed as error:
            if error.limit == "seconds":
                raise
            yield Skipped(place, str(error), entry.packed, error.limit)
            return
        yield from (Skipped(place, problem) for problem in problems)
        if stat.S_ISLNK(entry.mode) and view.size <= _LONGEST_LINK:
            target = view.all().decode("utf-8", "surrogateescape")
            yield from self._names.link_at(place, name, target, self._wanted, hard=False)
            return
        yield Member(place, view, data.start + data.size)

    def _data(self, entry: ZipEntry) -> tuple[ByteView, list[str]]:
        """The stored bytes of a member, which no other may share, and what is wrong with them."""
        start, problems = _local_header(self._view, entry)
        end = start + entry.packed
        self._spans.append((entry.header, end))
        following = bisect_right(self._headers, entry.header)
        if following - bisect_left(self._headers, entry.header) > 1:
            if entry.header in self._shared:
                raise Malformed(f"it shares the header at {entry.header:#x} with another member")
            self._shared.add(entry.header)
        if following < len(self._headers) and end > self._headers[following]:
            raise Malformed(
                f"its {entry.packed} bytes at {start:#x} overlap the next header, at "
                f"{self._headers[following]:#x}"
            )
        return self._view.sub(start, entry.packed), problems

    def _unpack(self, entry: ZipEntry, data: ByteView) -> tuple[ByteView, list[str]]:
        """The bytes of a member, and what is wrong with them."""
        if entry.flags & _ENCRYPTED:
            raise Malformed("it is encrypted")
        if entry.method == _STORED:
            if entry.packed != entry.unpacked:
                raise Malformed(f"it is stored, but has sizes {entry.packed} and {entry.unpacked}")
            for _ in _checked(chunks(data, 0, data.size, self._budget), entry.crc):
                pass
            return data, []
        if entry.method not in _METHODS:
            raise Malformed(f"its compression method {entry.method} is not supported")
        self._budget.check_unpacked(entry.packed, entry.unpacked)
        self._budget.check_room(entry.unpacked)
        if max(entry.packed, entry.unpacked) <= _SMALL and entry.method == _DEFLATED:
            found = inflated(data.all(), entry.unpacked, self._budget)
            if found is not None:
                return ByteView.of(b"".join(_checked((found,), entry.crc))), []
        source = Input(data)
        stream = Stream(unpacked(source, _METHODS[entry.method], self._budget))
        checked = _checked(stream.up_to(entry.unpacked), entry.crc)
        view = self._spool.keep(checked, entry.unpacked)
        return view, _contradictions(entry, view.size, stream, source)

    def behind(self, end: _End) -> Iterator[Skipped]:
        """Yield bytes that belong to no member, and broken links, after all members."""
        if not self._wanted.contains(self._place):
            return
        yield from self._names.broken_links()
        position = 0 if may_be_zip(self._view) else self._headers[0]  # behind a program
        spans = sorted([*self._spans, (end.start, end.whole), (self._view.size,) * 2])
        for start, stop in self._budget.timed(spans):
            if start - position > _SMALL_GAP and not is_zero(
                self._view, position, start, self._budget
            ):
                reason = f"{start - position} bytes of the archive belong to no member"
                yield Skipped(self._place.at(position), reason, start - position)
            position = max(position, stop)


def _checked(data: Iterable[bytes], stated: int) -> Iterator[bytes]:
    """Bytes as they pass, held to their CRC-32 in the end."""
    found = 0
    for chunk in data:
        found = zlib.crc32(chunk, found)
        yield chunk
    if found != stated:
        raise Malformed(f"its CRC-32 is {found:08x}, but the archive says {stated:08x}")


def _contradictions(entry: ZipEntry, size: int, stream: Stream, source: Input) -> list[str]:
    """Report members whose size differs from the stated one, which zipfile does not."""
    if size < entry.unpacked:
        return [f"it unpacks to {size} bytes, but says {entry.unpacked} bytes"]
    try:
        more = bool(stream.peek(1))
    except Malformed as error:
        return [f"behind its {size} bytes: {error}"]
    if more:
        return [f"it says {size} bytes, but unpacks to more; only the first {size} are read"]
    return [f"{source.left} bytes after its compressed data are not read"] if source.left else []
