"""The central directory of a zip, read record by record: the names and sizes that installers use.

Source: PKWARE's APPNOTE 6.3.10, sections 4.3 (records) and 4.5.3 (64-bit sizes). As in Python's
zipfile, the directory lies right in front of its end record, whatever offset that says; so the
bytes in front of an archive (a self-extractor) are allowed for.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from ltocompat.files.byteview import ByteView
from ltocompat.model.errors import Malformed

LOCAL_MAGIC = b"PK\3\4"
_CENTRAL_MAGIC = b"PK\1\2"
END_MAGIC = b"PK\5\6"
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
_ENCRYPTED, _DESCRIPTOR, _UTF8 = 1 << 0, 1 << 3, 1 << 11
_UNIX = 3


class End(NamedTuple):
    """Where the directory lies.

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


class ZipEntry(NamedTuple):
    """One member as the directory describes it; sizes in bytes, ``header`` an offset in the file.

    Attributes:
        method: number of the compression method.
        mode: of a Unix file, 0 where none is known.
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
        """UTF-8 where a flag says so, else code page 437, as zipfile reads it."""
        if self.flags & _UTF8:
            return self.raw_name.decode("utf-8", "surrogateescape")
        return self.raw_name.decode("cp437")

    @property
    def encrypted(self) -> bool:
        """Whether a password is needed."""
        return bool(self.flags & _ENCRYPTED)


def find_end(view: ByteView) -> End:
    """The last end record of the file.

    Raises:
        Malformed: there is none, or what it says is impossible.
    """
    tail = min(view.size, _END.size + _LONGEST_COMMENT)
    at = view.peek(view.size - tail, tail).rfind(END_MAGIC)
    if at < 0 or tail - at < _END.size:
        raise Malformed("there is no end record; is the archive whole?")
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
            f"its directory of {size} bytes at {offset:#x} does not fit in front of its end record "
            f"at {end:#x}"
        )
    whole = min(position + _END.size + comment, view.size)
    return End(start, size, start - offset, count, whole, disks)


def is_whole(view: ByteView) -> bool:
    """Whether the file ends as a zip ends, down to the last byte."""
    try:
        end = find_end(view)
    except Malformed:
        return False
    first = view.peek(end.start, len(_CENTRAL_MAGIC))
    return end.whole == view.size and first in (_CENTRAL_MAGIC, END_MAGIC, _END64_MAGIC)


def _end64(view: ByteView, position: int) -> tuple[int, bool, int, int, int] | None:
    """Offset of the 64-bit end record in front of the other, and what it says."""
    here = position - _LOCATOR.size
    if view.peek(here, len(_LOCATOR_MAGIC)) != _LOCATOR_MAGIC:
        return None
    first_disk, number, disks = view.unpack(_LOCATOR, here)
    at = here - _END64.size
    if view.peek(at, len(_END64_MAGIC)) != _END64_MAGIC:
        at = number
    if view.peek(at, len(_END64_MAGIC)) != _END64_MAGIC:
        raise Malformed(f"there is no 64-bit end record at {at:#x}")
    *_, disk, directory_disk, _, count, size, offset = view.unpack(_END64, at)
    several = bool(disk or directory_disk or first_disk or disks > 1)
    return at, several, count, size, offset


def entries(view: ByteView, end: End) -> Iterator[ZipEntry]:
    """The records of the directory.

    Raises:
        Malformed: one is broken; those before it were given already.
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
        raise Malformed(f"the directory runs past its {end.size} bytes")


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


def local_header(view: ByteView, entry: ZipEntry) -> tuple[int, list[str]]:
    """Offset of a member's data, and where its own header contradicts the directory.

    Raises:
        Malformed: there is no header.
    """
    if view.peek(entry.header, len(LOCAL_MAGIC)) != LOCAL_MAGIC:
        raise Malformed(f"there is no member header at {entry.header:#x}")
    _, flags, method, _, _, crc, *rest = view.unpack(_LOCAL, entry.header)
    packed, unpacked, name_size, extra_size = rest
    at = entry.header + _LOCAL.size
    name = view.peek(at, name_size)
    extra = view.peek(at + name_size, extra_size)
    problems = []
    if name != entry.raw_name:
        shown = name[:100].decode("utf-8", "replace")
        problems.append(f"its own header calls it {shown!r}; the directory's name is used")
    if method != entry.method:
        problems.append(
            f"its own header says method {method}, the directory {entry.method}, which is used"
        )
    if flags & _ENCRYPTED != entry.flags & _ENCRYPTED:
        problems.append("its own header and the directory disagree whether it is encrypted")
    unpacked, packed = _wide_sizes(extra, unpacked, packed)
    numbers = (crc, packed, unpacked)
    # With a descriptor behind the data these are zero, or already right.
    if numbers != (entry.crc, entry.packed, entry.unpacked) and not (
        flags & _DESCRIPTOR and not any(numbers)
    ):
        problems.append(
            f"its own header says {packed} bytes that unpack to {unpacked} (CRC {crc:08x}), the "
            f"directory {entry.packed} to {entry.unpacked} ({entry.crc:08x}), which is used"
        )
    return at + name_size + extra_size, problems
