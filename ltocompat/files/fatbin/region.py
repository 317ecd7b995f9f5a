"""Fatbin regions: the header, the chain of entries, and concatenated entries.

Layout: formats measured on 108,686 entries of 38 real libraries and on every writer 11.8 .. 13.5.
A region has no count and no terminator; its last entry ends exactly at its end.
"""

from __future__ import annotations

import enum
import functools
import struct
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import Payload
from ltocompat.files.fatbin import StoredImage
from ltocompat.files.first_bytes import FATBIN_MAGIC
from ltocompat.model.arch import SmArch
from ltocompat.model.errors import Malformed
from ltocompat.model.image import Compression, Image, ImageKind
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location

REGION_HEADER = struct.Struct("<IHHQ")
NEEDLE = FATBIN_MAGIC + struct.pack("<HH", 1, REGION_HEADER.size)

_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_OPTIONS = struct.Struct("<II")
_ATTRIBUTE = struct.Struct("<BBH")  # format, number, and a value or the size of what follows
_DIRECTORY = struct.Struct("<II")
# Enough for the header, a name and options of nearly every entry in one read.
_ENTRY_READ = 256
_LONGEST_ATTRIBUTES = 256  # real ones take 16 to 44 bytes
_LONGEST_HEADER = 1 << 20  # of an entry that holds no others; real ones have a few KiB

KIND_CONCATENATED = 0x100
KIND_RELOCATABLE_PTX = 0x40
_KIND_LTOIR = 0x08
_KINDS = {
    0x01: ImageKind.PTX,
    0x02: ImageKind.SASS,
    _KIND_LTOIR: ImageKind.LTOIR,
    KIND_RELOCATABLE_PTX: ImageKind.PTX,
    0x80: ImageKind.TILEIR,
}


class _Flag(enum.IntEnum):
    """Flags of an entry."""

    IS_64_BIT = 0x1
    DEBUG = 0x2
    PRODUCER = 0x4 | 0x8
    LINUX = 0x10
    MAC = 0x20
    WINDOWS = 0x40
    LZ4 = 0x2000
    ZSTD = 0x8000
    SCRAMBLED = 0x10000
    ACCELERATED = 0x100000
    FAMILY = 0x200000
    COMPAT_BLOB = 0x1000000


_FLAGS_KNOWN = sum(_Flag)
_FLAGS_SUFFIX = _Flag.ACCELERATED | _Flag.FAMILY
_HOSTS = (_Flag.LINUX, _Flag.MAC, _Flag.WINDOWS)
_COMPAT_BLOB = int(_Flag.COMPAT_BLOB)
_ATTRIBUTE_FAMILY, _FORM_SIZED = 0x0B, 4
_SIBLINGS = {100: 1 << 3, 120: 1 << 6}  # the bits of sm_103 and of sm_121
# Tile IR is for no architecture, and a concatenated entry for those of its images.
_KINDS_WITH_OPTIONS = (ImageKind.PTX, ImageKind.LTOIR)
_KINDS_WITH_ARCH = (0x01, 0x02, _KIND_LTOIR, KIND_RELOCATABLE_PTX)


class EntryHeader(NamedTuple):
    """The fixed part of an entry header, field by field."""

    kind: int
    entry_format: int
    header_size: int
    payload_size: int
    compressed_size: int
    options_offset: int
    version_minor: int
    version_major: int
    sm: int
    identifier_offset: int
    identifier_size: int
    flags: int
    key: int
    decoded_size: int


class FatbinEntry(Struct, frozen=True):
    """One entry of a region: its header fields, and its offset in the region (bytes)."""

    offset: int
    fields: EntryHeader
    identifier: str | None
    options: str | None
    lists_family: bool | None

    @property
    def end(self) -> int:
        """Offset of the next entry."""
        return self.offset + self.fields.header_size + self.fields.payload_size


class Region:
    """The region at the start of ``view``, which may be longer.

    Iterating yields its entries up to the first invalid one, and works only once. Only then are
    known:

    Attributes:
        size: bytes from the header, including the header.
        broken: why the walk stopped before the end (one sentence); None if it did not.
        limit: name of the ``Limits`` field that stopped it, else None.
        walked: bytes of the header and the complete entries.

    Raises:
        Malformed: there are too few bytes for the header of a region.
    """

    __slots__ = ("_budget", "_most", "_start", "_view", "broken", "limit", "size", "walked")

    def __init__(self, view: ByteView, budget: Budget) -> None:
        self._view = view
        self._budget = budget
        self._most = budget.limits.entries
        # Most regions have one entry: its header comes with that of the region.
        self._start = view.peek(0, REGION_HEADER.size + _ENTRY_READ)
        if len(self._start) < REGION_HEADER.size:
            view.read(0, REGION_HEADER.size)  # which says what is missing
        self.size = REGION_HEADER.size + REGION_HEADER.unpack_from(self._start)[3]
        self.broken: str | None = None
        self.limit: str | None = None
        self.walked = min(REGION_HEADER.size, view.size)

    def __iter__(self) -> Iterator[FatbinEntry]:
        available = self._view.size
        if self.size > available:
            self.broken = f"the region says {self.size} bytes, but only {available} are in the file"
        end = min(self.size, available)
        position, number = REGION_HEADER.size, 0
        begun = time.monotonic()
        head = self._start[position:]
        while position < end:
            if number >= self._most:
                self.broken, self.limit = f"it has over {number} entries", "entries"
                return
            try:
                if number:
                    self._budget.check_half(begun)
                    head = self._view.peek(position, _ENTRY_READ)
                entry = _read_entry(self._view, position, self.size, head)
            except Malformed as error:
                self.broken = f"entry {number}: {error}"
                self.limit = error.limit
                return
            position, number = entry.end, number + 1
            self.walked = min(position, available)
            yield entry


def entry_at(view: ByteView, offset: int) -> FatbinEntry:
    """Return the entry at an offset of its region, where a walk has found one.

    Raises:
        Malformed: the file has changed since then.
    """
    return _read_entry(view, offset, view.size, view.peek(offset, _ENTRY_READ))


def _read_entry(view: ByteView, offset: int, region_end: int, data: bytes) -> FatbinEntry:
    """The entry at ``offset``, where the file has the bytes ``data``."""
    if len(data) < _ENTRY.size or offset + _ENTRY.size > region_end:
        raise Malformed(f"{region_end - offset} bytes are too few for an entry header")
    fields = tuple.__new__(EntryHeader, _ENTRY.unpack_from(data))
    header_size = fields.header_size
    end = offset + header_size + fields.payload_size
    if header_size < _ENTRY.size:
        raise Malformed(f"a header size of {header_size} is below {_ENTRY.size}")
    if end > region_end:
        raise Malformed(f"it ends at {end:#x}, behind the end of its region at {region_end:#x}")
    if end > view.size:
        raise Malformed(f"it ends at {end:#x}, after the end of the file")
    if fields.compressed_size > fields.payload_size:
        raise Malformed(
            f"{fields.compressed_size} compressed bytes exceed a payload of {fields.payload_size}"
        )
    if header_size > len(data) and fields.kind != KIND_CONCATENATED:
        data = view.read(offset, min(header_size, _LONGEST_HEADER))
    return _entry(offset, data, fields)


def _entry(offset: int, header: bytes, fields: EntryHeader) -> FatbinEntry:
    identifier = _identifier(header, fields) if fields.identifier_size else None
    options = _options(header, fields) if fields.options_offset else None
    return FatbinEntry(offset, fields, identifier, options, _lists_family(header, fields))


def _identifier(header: bytes, fields: EntryHeader) -> str | None:
    start, size = fields.identifier_offset, fields.identifier_size
    if not start or start + size > min(len(header), fields.header_size):
        return None
    return header[start : start + size].decode("utf-8", "replace")


def _area(header: bytes, fields: EntryHeader) -> bytes:
    """The bytes of the options, or of the attributes that stand in their place."""
    at = fields.options_offset
    if fields.kind == KIND_CONCATENATED or not at or at + _OPTIONS.size > len(header):
        return b""
    start, size = _OPTIONS.unpack_from(header, at)
    return header[start : start + size]


def _options(header: bytes, fields: EntryHeader) -> str | None:
    """The compiler options; cubins may keep a binary blob in that place, which is none."""
    text = _area(header, fields).rstrip(b"\0")
    if not text or text[0] < 0x20 or fields.flags & _COMPAT_BLOB:
        return None
    return text.decode("utf-8", "replace").strip() or None


def _lists_family(header: bytes, fields: EntryHeader) -> bool | None:
    """Read ``StoredImage.lists_family`` from the attributes that stand in place of options."""
    area = _area(header, fields) if fields.flags & _COMPAT_BLOB else b""
    return _has_family(area[:_LONGEST_ATTRIBUTES], fields.sm) if area else None


@functools.lru_cache(maxsize=1024)  # a library has a few dozen
def _has_family(attributes: bytes, sm: int) -> bool:
    """Return whether an attribute lists another GPU of the family, laid out as in cubins.

    The attribute is a set of bits. Code without functions has none, and code that runs on its own
    architecture alone has one. Tools write no bits for other architectures than sm_100 and sm_120.
    """
    position = 1
    while position + _ATTRIBUTE.size <= len(attributes):
        form, number, size = _ATTRIBUTE.unpack_from(attributes, position)
        position += _ATTRIBUTE.size
        if number == _ATTRIBUTE_FAMILY:
            listed = int.from_bytes(attributes[position : position + size], "little")
            return sm not in _SIBLINGS or bool(listed & _SIBLINGS[sm])
        position += size if form == _FORM_SIZED else 0
    return False


@functools.lru_cache(maxsize=1024)
def _image_of(number: int, flags: int, sm: int) -> Image:
    """An image by the kind, flags and architecture number of its entry; a library has few dozen."""
    kind = _KINDS.get(number, ImageKind.UNKNOWN)
    suffix = "a" if flags & _Flag.ACCELERATED else "f" if flags & _Flag.FAMILY else ""
    if flags & _Flag.ZSTD:
        compression = Compression.ZSTD
    else:
        compression = Compression.LZ4 if flags & _Flag.LZ4 else Compression.NONE
    return Image(
        kind,
        number,
        _ANYWHERE,
        None,
        SmArch(sm, suffix, kind.arch_form) if sm else None,
        compression=compression,
        scrambled=bool(flags & _Flag.SCRAMBLED) and kind is ImageKind.LTOIR,
        relocatable=True if number == KIND_RELOCATABLE_PTX else None,
        debug=bool(flags & _Flag.DEBUG),
        host_os=next((host.name.lower() for host in _HOSTS if flags & host), None),
        problems=tuple(_problems(number, flags, sm, compression)),
    )


_ANYWHERE = Location("")


def _problems(number: int, flags: int, sm: int, compression: Compression) -> Iterator[str]:
    """Sentences about a header unlike those of every writer; nobody knows what readers do then.

    nvJitLink refuses such an entry or dies of it, and the driver passes over some and dies of
    others.
    """
    if flags & ~_FLAGS_KNOWN:
        yield f"its entry has flags of no known meaning, {flags & ~_FLAGS_KNOWN:#x}"
    if not flags & _Flag.IS_64_BIT:
        yield "its entry says that it is not 64-bit code"
    if flags & _FLAGS_SUFFIX == _FLAGS_SUFFIX:
        yield "its entry has the suffixes a and f, but an architecture has at most one suffix"
    if not sm and number in _KINDS_WITH_ARCH:
        yield "its entry names no architecture"
    packed = compression is not Compression.NONE
    if flags & _Flag.SCRAMBLED and not (packed and number == _KIND_LTOIR):
        yield "its entry says that it is scrambled, but only compressed LTO-IR can be scrambled"


def _problems_of_sizes(fields: EntryHeader, compression: Compression) -> Iterator[str]:
    """Yield problems of the sizes in a header."""
    unpacked = compression is Compression.NONE
    if unpacked and (fields.compressed_size or fields.decoded_size):
        yield "its entry has the sizes of compressed code, but says that it is not compressed"
    if fields.options_offset and fields.options_offset + _OPTIONS.size > fields.header_size:
        yield (
            f"its entry keeps its options at {fields.options_offset:#x}, outside of its header of "
            f"{fields.header_size} bytes"
        )


def stored_images(
    view: ByteView, entry: FatbinEntry, place: Location, section: str | None, budget: Budget
) -> Iterable[StoredImage]:
    """Yield the images of one entry: itself, or the images of a concatenated entry.

    Args:
        view: bytes from the start of the region.
        entry: an entry of that region.
        place: place of the entry.
        section: name of the host section around it.
        budget: the budget of the file.
    """
    fields = entry.fields
    like = _image_of(fields.kind, fields.flags, fields.sm)
    packed = like.compression is not Compression.NONE
    size = fields.compressed_size if packed else fields.payload_size
    stored = view.sub(entry.offset + fields.header_size, size)
    declared = fields.decoded_size if packed else None
    payload = Payload(stored, like.compression, declared, budget)
    image = _stored(entry, payload, place, section)
    if like.scrambled:
        if fields.header_size > _LONGEST_HEADER:
            raise Malformed(f"the header is longer than {_LONGEST_HEADER}: {fields.header_size}")
        image = replace(image, entry_header=view.read(entry.offset, fields.header_size))
    if fields.kind == KIND_CONCATENATED:
        directory = view.sub(entry.offset, fields.header_size)
        return _concatenated(directory, fields.options_offset, image)
    return (image,)


def _stored(
    entry: FatbinEntry, payload: Payload, place: Location, section: str | None
) -> StoredImage:
    fields = entry.fields
    like = _image_of(fields.kind, fields.flags, fields.sm)
    image = replace(
        like,
        place=place,
        section=section,
        stored_size=payload.stored.size,
        size=payload.declared,
        compression=payload.compression,
        options=entry.options,
        lacks_options=like.kind in _KINDS_WITH_OPTIONS and not fields.options_offset,
        identifier=entry.identifier,
        lists_family=entry.lists_family if like.kind is ImageKind.SASS else None,
        problems=(*like.problems, *_problems_of_sizes(fields, like.compression)),
    )
    return StoredImage(image, payload, (fields.version_major, fields.version_minor))


def _concatenated(directory: ByteView, position: int, outer: StoredImage) -> Iterator[StoredImage]:
    """The images inside a concatenated entry.

    Its header holds u32 count, u32 size, and ``count`` headers of the usual layout in which the
    header size is the payload's offset in the decoded outer payload, and the payload size exact.
    """
    budget = outer.payload.budget
    data = ByteView.of(outer.payload.decode())
    count, _ = directory.unpack(_DIRECTORY, position)
    budget.check("entries", count, "the concatenated entry says {size} images")
    if not count:
        raise Malformed("the concatenated entry gives its number of images as 0")
    position, end = position + _DIRECTORY.size, 0
    for number in budget.timed(range(count)):
        header = directory.peek(position, 1 << 16)
        if len(header) < _ENTRY.size:
            raise Malformed(f"the directory ends before image {number} of {count}")
        fields = EntryHeader._make(_ENTRY.unpack_from(header))
        size = _inline_size(header, fields)
        inner = _entry(position, header, fields._replace(header_size=size))
        stored = data.sub(fields.header_size, fields.payload_size)
        payload = Payload(stored, Compression.NONE, None, budget)
        place = outer.entry.place.at(
            outer.entry.place.offset or 0, *outer.entry.place.entry, number
        )
        found = _stored(inner, payload, place, outer.entry.section)
        image = replace(
            found.entry,
            # Each image takes its share of the stored bytes, so that sizes add up to the file's.
            stored_size=outer.payload.stored.size * stored.size // max(data.size, 1),
            compression=outer.entry.compression,
            problems=(*outer.entry.problems, *found.entry.problems),
        )
        yield replace(found, entry=image)
        position += size
        end = max(end, padded(fields.header_size + fields.payload_size))
    if end < data.size:
        raise Malformed(f"{data.size - end} bytes of the concatenated entry belong to no image")


def _inline_size(header: bytes, fields: EntryHeader) -> int:
    """Size of a directory header, which is not stored: all its parts, each padded to 8 bytes."""
    size = _ENTRY.size
    if fields.identifier_offset:
        size = max(size, padded(fields.identifier_offset + fields.identifier_size + 1))
    at = fields.options_offset
    if at and at + _OPTIONS.size <= len(header):
        start, length = _OPTIONS.unpack_from(header, at)
        size = max(size, padded(start + length + 1))
    return size


def padded(size: int) -> int:
    """Return the bytes of a payload of ``size`` bytes in a region, whose entries align to 8."""
    return (size + 7) // 8 * 8


def single_entry_region(header: bytes, payload: bytes) -> bytes:
    """Return a region with one entry, whose header is unchanged.

    Args:
        header: the entry's header, variable part included.
        payload: its stored bytes, without padding.
    """
    body = header + payload.ljust(padded(len(payload)), b"\0")
    return region_header(REGION_HEADER.size + len(body)) + body


def region_header(size: int) -> bytes:
    """Return the header of a region of ``size`` bytes, itself included."""
    return NEEDLE + struct.pack("<Q", size - REGION_HEADER.size)


def packed_header(header: bytes, stored: int, decoded: int) -> bytes:
    """Return an entry's header for a new payload, a Zstandard frame.

    Args:
        header: the old header, including its variable part.
        stored: bytes of the frame.
        decoded: unpacked bytes.
    """
    fields = EntryHeader._make(_ENTRY.unpack_from(header))
    new = fields._replace(
        payload_size=padded(stored),
        compressed_size=stored,
        decoded_size=decoded,
        flags=fields.flags & ~_Flag.LZ4 | _Flag.ZSTD,
    )
    return _ENTRY.pack(*new) + header[_ENTRY.size :]
