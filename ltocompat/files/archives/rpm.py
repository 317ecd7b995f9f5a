"""RPM packages: a lead of 96 bytes, two headers, and a compressed cpio archive with the files.

A header has an index of 16 bytes an entry (tag, type, offset, count; big-endian) and a store with
the values. Sources: rpm's manual, "RPM V4 Package format"; cpio(5), "New ASCII Format".
"""

from __future__ import annotations

import re
import stat
import struct
from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from msgspec import Struct

from ltocompat.files.archives import tar
from ltocompat.files.archives.member import Members
from ltocompat.files.byteview import ByteView, chunks, digest_of
from ltocompat.files.first_bytes import RPM_MAGIC
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.image import Skipped
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location

_LEAD_SIZE = 96
_HEADER_MAGIC, _MAGIC_SIZE = b"\x8e\xad\xe8\x01", 8  # with four zeros
_SIZES = struct.Struct(">II")  # entries of the index, bytes of the store
_ENTRY, _NUMBER = struct.Struct(">IIII"), struct.Struct(">I")
_HEADER_SHA256, _ARCHIVE_SHA256 = 273, 5092  # tags: of the header, of the compressed archive
_NUMBERS, *_STRINGS = 4, 6, 8  # types: of 32 bits; one text, several
_CPIO = re.compile(rb"07070[12](?:[0-9a-fA-F]{8}){13}")
_TYPES = {stat.S_IFLNK: tar.LINK, stat.S_IFDIR: tar.FOLDER, stat.S_IFSOCK: tar.DEVICES[2]}
_TYPES |= zip((stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO), tar.DEVICES, strict=True)


class RpmHeader(Struct, frozen=True):
    """A header of a package: values by their tags.

    Attributes:
        start: its offset, after its magic.
        end: the offset of its end.
        index: the entries.
        store: the values.
    """

    start: int
    end: int
    index: bytes
    store: bytes

    def texts(self, tag: int) -> list[str]:
        """Return the texts of a tag; none if the header doesn't have it."""
        data, count = self._values(tag, _STRINGS)
        return [part.decode("utf-8", "replace") for part in data.split(b"\0", count)[:count]]

    def numbers(self, tag: int) -> list[int]:
        """Return the numbers of a tag; none if the header doesn't have it."""
        data, count = self._values(tag, [_NUMBERS])
        return [number for (number,) in _NUMBER.iter_unpack(data[: 4 * min(count, len(data) // 4)])]

    def _values(self, tag: int, kinds: list[int]) -> tuple[bytes, int]:
        """The store from a tag's values on, and how many they are."""
        for found, kind, offset, count in _ENTRY.iter_unpack(self.index):
            if found == tag and kind in kinds:
                return self.store[offset:], count
        return b"", 0


def read_headers(view: ByteView, budget: Budget) -> tuple[RpmHeader, RpmHeader]:
    """Return the header with signatures, after the lead, and the main header.

    Raises:
        Malformed: there is none.
        LimitExceeded: it is too large to be read.
    """
    signatures = _header_at(view, _LEAD_SIZE, budget)
    return signatures, _header_at(view, signatures.end + -signatures.end % 8, budget)


def _header_at(view: ByteView, start: int, budget: Budget) -> RpmHeader:
    if view.read(start, _MAGIC_SIZE)[:4] != _HEADER_MAGIC:
        raise Malformed(f"the RPM package has no header at {start:#x}")
    return header_behind(view, start + _MAGIC_SIZE, budget)


def header_behind(view: ByteView, start: int, budget: Budget) -> RpmHeader:
    """Return the header whose magic ends at an offset; rpm's database has no magic.

    Raises:
        Malformed: it is truncated.
        LimitExceeded: it is too large to be read.
    """
    entries, size = view.unpack(_SIZES, start)
    at, length = start + _SIZES.size, entries * _ENTRY.size
    budget.check_tables(length + size)
    store = view.read(at + length, size)
    return RpmHeader(start, at + length + size, view.read(at, length), store)


def sniff(view: ByteView, _: Budget) -> bool:
    """Return whether this is an RPM package."""
    return view.peek(0, len(RPM_MAGIC)) == RPM_MAGIC


def members(view: ByteView, place: Location, wanted: Location, budget: Budget) -> Members:
    """Yield the files in the order of the archive."""
    try:
        signatures, header = read_headers(view, budget)
        start = header.end
        for what, begin, end, sums in (
            ("header", header.start - _MAGIC_SIZE, start, signatures.texts(_HEADER_SHA256)),
            ("archive", start, view.size, header.texts(_ARCHIVE_SHA256)),
        ):
            if sums and sums[0] != digest_of(chunks(view, begin, end, budget)).hex():
                yield Skipped(place, f"its {what} does not have the SHA-256 that it states")
        yield from tar.walk(tar.tape_of(view, budget, start), place, wanted, budget, _headers)
    except LimitExceeded:
        raise
    except Malformed as error:
        yield Skipped(place, str(error), view.size)


class _CpioHeader(tar.TarHeader, frozen=True):
    """A header of cpio, with the fields that it has in common with tar's."""

    block: ClassVar[int] = 4


def _headers(tape: tar.Tape, place: Location, budget: Budget) -> Iterator[tar.TarHeader | Skipped]:
    """The headers of a cpio archive, up to the one that ends it."""
    yield from budget.members(iter(partial(_header, tape, budget), None))
    yield from tar.behind(tape, place, budget, 4)


def _header(tape: tar.Tape, budget: Budget) -> tar.TarHeader | None:
    head = tape.read(110)
    if not _CPIO.fullmatch(head):
        raise Malformed("a member header of its cpio archive is broken or truncated")
    _, mode, _, _, links, _, size, *_, length, _ = (
        int(head[at : at + 8], 16) for at in range(6, 110, 8)
    )
    budget.check("text_bytes", length, "a name of {size} bytes is over the limit of {most}")
    name = tape.read(length + -(len(head) + length) % 4)[:length].rstrip(b"\0")
    text = name.decode("utf-8", "surrogateescape")
    if text == "TRAILER!!!":
        return None
    kind, target = _TYPES.get(stat.S_IFMT(mode), "0"), ""
    if kind == tar.LINK:
        budget.check("text_bytes", size, "a link of {size} bytes is over the limit of {most}")
        target = tape.read(size + -size % 4)[:size].decode("utf-8", "surrogateescape")
        size = 0
    elif kind == "0" and links > 1 and not size:  # the last of its names has the bytes
        kind = tar.FOLDER
    return _CpioHeader(text, size, kind, target)
