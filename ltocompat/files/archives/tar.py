"""Tar archives, plain or as they come out of a decompressor.

Not read with ``tarfile``: of an archive whose second header has one wrong bit, or that is cut off
in its third member, it lists what comes before and says nothing; of a pax header of 64 MB it makes
256 MB of memory; and what lies behind the end it never sees. Here each of them is a reason.

A header is a block of 512 bytes: name 100, mode 8, owner 8, group 8, size 12, time 12, checksum 8,
type 1, link target 100, magic 8, ..., at 345 a prefix of the name 155. Source: POSIX pax(1), and
the description of tar formats in the manual of GNU tar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, TypeAlias

from msgspec import Struct, field

from ltocompat.files.archives.member import Member, Members, Names, concerns, until_damage
from ltocompat.files.archives.spool import IN_MEMORY, Spool
from ltocompat.files.archives.unpacking import Stream, unpacked
from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import Input
from ltocompat.files.first_bytes import BLOCK, checksum_holds, is_tar, packing_of
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.image import Skipped
from ltocompat.model.limits import MIB, Budget
from ltocompat.model.location import Location

_SPARSE = "GNU.sparse"
_RECORD = re.compile(rb"(\d{1,20}) ")


class TarHeader(Struct, frozen=True):
    """The fields of one header.

    Attributes:
        name: as stored; other encodings are kept as surrogates.
        size: bytes of data that follow.
        type: one character, ``0`` for a file.
        target: the target of a link.
        sparse: True if zeros were left out of the data, so that it is no plain copy of the file.
        more: True if blocks that list more such zeros precede the data (GNU).
        block: the size in bytes to a multiple of which the data are padded.
    """

    block: ClassVar[int] = BLOCK

    name: str
    size: int
    type: str
    target: str
    sparse: bool = False
    more: bool = False

    def changed(self, records: Mapping[str, str]) -> TarHeader:
        """Return this header with the values of extended headers.

        Raises:
            Malformed: a size in them is not a number.
        """
        size = self.size
        if "size" in records:
            if not (records["size"].isascii() and records["size"].isdecimal()):
                raise Malformed(
                    f"a pax header has a size that is not a number: {records['size'][:40]!r}"
                )
            size = int(records["size"][:20])
        name = records.get("GNU.sparse.name", records.get("path", self.name))
        # Before POSIX a folder was a file whose name ends so; one that is cut here may by chance.
        folder = self.type == "0" and name.endswith("/")
        return TarHeader(
            name,
            size,
            FOLDER if folder else self.type,
            records.get("linkpath", self.target),
            self.sparse or _SPARSE in records,
            self.more,
        )


def parse(block: bytes) -> TarHeader:
    """Read one header.

    Raises:
        Malformed: its checksum is wrong, or a number is invalid.
    """
    if not checksum_holds(block):
        raise Malformed("the checksum of a member header is wrong")
    name = _text(block[:100])
    if block[257:263] == b"ustar\x00" and block[345]:
        name = f"{_text(block[345:500])}/{name}"
    size = _number(block[124:136])
    if size < 0:
        raise Malformed(f"a member header says that its size is {size}")
    kind = chr(block[156]) if block[156] else "0"
    sparse = kind == "S"
    return TarHeader(name, size, kind, _text(block[157:257]), sparse, sparse and block[482] != 0)


def _pax_records(data: bytes) -> dict[str, str]:
    """The used records ``length key=value`` of an extended header.

    Raises:
        Malformed: their lengths don't add up.
    """
    records = {}
    position = 0
    while position < len(data) and data[position]:
        key, value, position = _pax_record(data, position)
        if key in (b"path", b"size", b"linkpath", b"GNU.sparse.name"):
            records[_decode(key)] = _decode(value)
        elif key.startswith(_SPARSE.encode()):
            records[_SPARSE] = ""
    return records


def _pax_record(data: bytes, position: int) -> tuple[bytes, bytes, int]:
    """Key and value of the record at ``position``, and where the next one begins.

    A length counts the whole record, from its own digits to the newline at the end. One that
    covers less is refused: after a length of 0 the same record would be read again for ever.
    """
    found = _RECORD.match(data, position)
    end = position + int(found[1]) if found else 0
    record = data[found.end() : end] if found and end <= len(data) else b""
    key, equals, value = record.partition(b"=")
    if not (key and equals and value.endswith(b"\n")):
        start = data[position : position + 40]
        raise Malformed(f"a pax header is broken at byte {position}, in the record {start!r}")
    return key, value[:-1], end


def _number(field: bytes) -> int:
    """Octal digits, or where the first bit is set a big-endian number (GNU)."""
    if field[0] in (0x80, 0xFF):
        number = int.from_bytes(field[1:], "big")
        return number - (1 << 8 * (len(field) - 1)) if field[0] == 0xFF else number
    digits = field.partition(b"\0")[0].strip()
    if not re.fullmatch(rb"[0-7]*", digits):
        raise Malformed(f"a member header has {digits!r} instead of a number")
    return int(digits or b"0", 8)


def _text(field: bytes) -> str:
    return _decode(field.partition(b"\0")[0])


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


_LONG = {"L": "path", "K": "linkpath"}
_PAX, _PAX_GLOBAL = ("x", "X"), "g"
HARD_LINK, LINK, FOLDER = "1", "2", "5"
DEVICES = ("3", "4", "6")
_NO_FILES = {
    "3": "it is a character device",
    "4": "it is a block device",
    "6": "it is a named pipe",
    "D": "it is a listing of a folder (GNU)",
    "M": "it is continued from another volume (GNU)",
    "V": "it is a volume label (GNU)",
}
# Types whose header is followed by no data, whatever size it says.
_NO_DATA = (HARD_LINK, LINK, FOLDER, *DEVICES, "V")


def sniff(view: ByteView, _: Budget) -> bool:
    """Return whether this is a tar archive."""
    return is_tar(view.peek(0, BLOCK))


def members(view: ByteView, place: Location, wanted: Location, budget: Budget) -> Members:
    """Yield the members in file order."""
    return walk(Plain(view), place, wanted, budget)


class Plain(Struct):
    """An archive that can be viewed in place; ``position``: number of bytes read."""

    _view: ByteView
    position: int = 0

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer at the end."""
        data = self._view.peek(self.position, size)
        self.position += len(data)
        return data

    def body(self, size: int) -> ByteView:
        """Return the next ``size`` bytes as a separate file."""
        left = self._view.size - self.position
        if size > left:
            raise Malformed(f"its header says {size} bytes, but only {left} bytes follow")
        self.position += size
        return self._view.sub(self.position - size, size)

    def skip(self, size: int) -> None:
        """Pass over ``size`` bytes."""
        self.body(size)


class Unpacked(Struct):
    """An archive from a decompressor."""

    _stream: Stream
    _stored: Input
    _spool: Spool = field(default_factory=Spool)

    @property
    def position(self) -> int:
        """Number of stored bytes that the decompressor has read."""
        return self._stored.position

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer at the end."""
        return self._stream.read(size)

    def body(self, size: int) -> ByteView:
        """Return the next ``size`` bytes, kept as long as they are viewed."""
        if size > IN_MEMORY:
            return self._spool.keep(self._stream.take(size), size)
        data = self._stream.read(size)
        if len(data) < size:
            raise Malformed(f"the last {size - len(data)} of its {size} bytes are missing")
        return ByteView.of(data)

    def skip(self, size: int) -> None:
        """Decompress ``size`` bytes and drop them."""
        for _ in self._stream.take(size):
            pass


# The bytes of an archive, read once from front to end.
Tape = Plain | Unpacked


def tape_of(view: ByteView, budget: Budget, start: int = 0) -> Tape:
    """Return the archive at an offset, compressed or not."""
    packing, stored = packing_of(view.sub(start, view.size - start)), Input(view, start)
    if packing is None:
        return Plain(view, start)
    return Unpacked(Stream(unpacked(stored, packing, budget)), stored)


# Reads the headers of an archive.
Headers: TypeAlias = Callable[[Tape, Location, Budget], Iterator["TarHeader | Skipped"]]


def walk(
    tape: Tape, place: Location, wanted: Location, budget: Budget, read: Headers | None = None
) -> Members:
    """Yield the members of an archive; report bytes after its end.

    Args:
        tape: the archive.
        place: the place of the archive.
        wanted: the requested place; unrelated members are skipped.
        budget: the budget for reading.
        read: reads its headers; None: tar's headers.
    """
    names = Names(place, budget.limits)
    found = (read or headers)(tape, place, budget)
    yield from until_damage(_members(tape, found, names, wanted, budget), place)
    yield from names.broken_links()


def _members(
    tape: Tape, found: Iterator[TarHeader | Skipped], names: Names, wanted: Location, budget: Budget
) -> Members:
    for header in found:
        if isinstance(header, Skipped):
            yield header
            continue
        if header.type not in (FOLDER, LINK, HARD_LINK):
            at, problems = names.take(header.name)
            yield from (Skipped(at, problem) for problem in problems)
            yield from file_of(tape, header, at, budget, wanted=concerns(at, wanted))
            continue
        if header.type == FOLDER:
            yield from names.folder(header.name)
        else:
            hard = header.type == HARD_LINK
            yield from names.link(header.name, header.target, wanted, hard=hard)
        if header.size:
            reason = f"it is not a file, but says that it has {header.size} bytes"
            yield Skipped(names.place.member(header.name[:100]), reason)


def headers(
    tape: Tape, place: Location, budget: Budget, *, may_end: bool = False
) -> Iterator[TarHeader | Skipped]:
    """Yield the headers of an archive with their extended values; report bytes after its end.

    The caller has to read or skip the bytes of a header's file before the next header.

    Args:
        tape: the archive.
        place: the place of the archive.
        budget: the budget for reading.
        may_end: True if it may end without a block of zeros, as Go's archive/tar reads and umoci
            writes.

    Raises:
        Malformed: the rest of the archive can't be read.
    """
    yield from _Headers(tape, place, budget, may_end).all()
    yield from behind(tape, place, budget)


class _Headers(Struct):
    """The headers of one archive, read from front to end."""

    _tape: Tape
    _place: Location
    _budget: Budget
    _may_end: bool
    _for_all: dict[str, str] = field(default_factory=dict)
    _for_next: dict[str, str] = field(default_factory=dict)

    def all(self) -> Iterator[TarHeader | Skipped]:
        for header in self._budget.members(iter(self._header, None)):
            if header.type in (*_LONG, *_PAX, _PAX_GLOBAL):
                yield from self._extend(header)
            elif self._for_all or self._for_next or header.name.endswith("/"):
                yield header.changed(self._for_all | self._for_next)
                self._for_next = {}
            else:
                yield header

    def _header(self) -> TarHeader | None:
        """The next header; None at the end of the archive, which is a block of zeros."""
        block = self._tape.read(BLOCK)
        if not block and self._may_end:
            return None
        if len(block) < BLOCK:
            raise Malformed("it ends without a block of zeros; is it complete?")
        return parse(block) if block.count(0) < BLOCK else None

    def _extend(self, header: TarHeader) -> Iterator[Skipped]:
        most = self._budget.limits.text_bytes
        if header.size > most:
            reason = f"an extended header of {header.size} bytes is over the limit of {most}"
            yield Skipped(self._place, reason, header.size, "text_bytes")
            self._tape.skip(_padded(header.size))
            return
        data = self._tape.read(_padded(header.size))
        if len(data) < header.size:
            raise Malformed(f"an extended header of {header.size} bytes is truncated")
        data = data[: header.size]
        if header.type in _LONG:
            self._for_next[_LONG[header.type]] = _text(data)
        else:
            try:
                records = _pax_records(data)
            except Malformed as error:
                yield Skipped(self._place, f"its values are not used: {error}", header.size)
                return
            (self._for_all if header.type == _PAX_GLOBAL else self._for_next).update(records)


def file_of(
    tape: Tape, header: TarHeader, place: Location, budget: Budget, *, wanted: bool
) -> Members:
    """Yield the file after a header, which may be a device or a pipe; its bytes only if wanted.

    Raises:
        Malformed: the archive ends inside it.
    """
    reason = _NO_FILES.get(header.type)
    more = header.more
    while more:
        # Whether another block with a list of zeros follows this one (GNU).
        more = any(tape.read(BLOCK)[504:505])
        budget.check_time()
    if header.sparse:
        reason = "it is stored as a sparse file, which ltocompat doesn't read; store it whole"
    if reason is not None or not wanted:
        if reason is not None:
            yield Skipped(place, reason, header.size)
        if header.type not in _NO_DATA:
            tape.skip(header.size)
            tape.read(-header.size % header.block)
        return
    try:
        view = tape.body(header.size)
    except LimitExceeded:
        raise
    except Malformed as error:
        yield Skipped(place, str(error), header.size)
        raise
    yield Member(place, view, tape.position)
    tape.read(-header.size % header.block)


def behind(tape: Tape, place: Location, budget: Budget, block: int = BLOCK) -> Iterator[Skipped]:
    """Report bytes after the end, except padding zeros."""
    zeros = other = 0
    while data := tape.read(MIB):
        budget.check_time()
        zeros += data.count(0)
        other += len(data) - data.count(0)
    if other:
        reason = f"{zeros + other} bytes after the end of the archive are not read"
        yield Skipped(place, reason, zeros + other)
    elif zeros % block:  # an archive is a series of blocks, so that some of its bytes are lost
        yield Skipped(place, "it ends in the middle of a block; is it complete?")


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK
