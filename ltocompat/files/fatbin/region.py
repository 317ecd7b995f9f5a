"""Fatbin regions: the header, the chain of entries, and concatenated entries.

Layout: formats measured on 108,686 entries of 38 real libraries and on every writer 11.8 .. 13.5.
A region has no count and no terminator; its last entry ends exactly at its end.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from typing import NamedTuple

from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import Payload
from ltocompat.files.fatbin import StoredImage
from ltocompat.model.arch import SmArch
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.image import Compression, ImageKind
from ltocompat.model.limits import Budget
from ltocompat.model.place import Place

REGION_HEADER = struct.Struct("<IHHQ")
MAGIC = struct.pack("<I", 0xBA55ED50)
NEEDLE = MAGIC + struct.pack("<HH", 1, REGION_HEADER.size)

_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_OPTIONS = struct.Struct("<II")
_DIRECTORY = struct.Struct("<II")
# Enough for the header, a name and options of nearly every entry in one read.
_ENTRY_READ = 256

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

_FLAG_64_BIT = 0x1
_FLAG_DEBUG = 0x2
_FLAGS_PRODUCER = 0x4 | 0x8
_FLAG_HOSTS = {0x10: "linux", 0x20: "mac", 0x40: "windows"}
_FLAG_LZ4 = 0x2000
_FLAG_ZSTD = 0x8000
_FLAG_SCRAMBLED = 0x10000
_FLAG_ACCELERATED = 0x100000
_FLAG_FAMILY = 0x200000
_FLAGS_SUFFIX = _FLAG_ACCELERATED | _FLAG_FAMILY
_FLAG_COMPAT_BLOB = 0x1000000
_FLAGS_KNOWN = (
    _FLAG_64_BIT
    | _FLAG_DEBUG
    | _FLAGS_PRODUCER
    | sum(_FLAG_HOSTS)
    | _FLAG_LZ4
    | _FLAG_ZSTD
    | _FLAG_SCRAMBLED
    | _FLAGS_SUFFIX
    | _FLAG_COMPAT_BLOB
)
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


class FatbinEntry(NamedTuple):
    """One entry of a region: its header fields, and its offset in the region (bytes)."""

    offset: int
    fields: EntryHeader
    identifier: str | None
    options: str | None

    @property
    def payload_offset(self) -> int:
        """Where the payload begins, bytes from the region's start."""
        return self.offset + self.fields.header_size

    @property
    def end(self) -> int:
        """Where the next entry begins."""
        return self.payload_offset + self.fields.payload_size

    @property
    def compression(self) -> Compression:
        """How the payload is packed."""
        if self.fields.flags & _FLAG_ZSTD:
            return Compression.ZSTD
        return Compression.LZ4 if self.fields.flags & _FLAG_LZ4 else Compression.NONE


class Region(NamedTuple):
    """A region that was walked.

    Attributes:
        size: bytes, header included, as the header says.
        entries: the entries up to the first that does not fit.
        broken: why the walk stopped before the end (one sentence), None when it did not.
        limit: name of the ``Limits`` field that stopped it, else None.
        walked: bytes from the start that the header and the whole entries cover.
    """

    size: int
    entries: tuple[FatbinEntry, ...]
    broken: str | None
    limit: str | None
    walked: int


def read_region(view: ByteView, budget: Budget) -> Region:
    """Walk the region at the start of ``view``, which may go on behind it."""
    body = view.unpack(REGION_HEADER, 0)[3]
    size = REGION_HEADER.size + body
    position = REGION_HEADER.size
    entries: list[FatbinEntry] = []
    broken = limit = None
    try:
        if size > view.size:
            broken = f"the region says {size} bytes, but {view.size} are left in the file"
        while position < min(size, view.size):
            if len(entries) >= budget.limits.entries:
                broken, limit = f"it has over {len(entries)} entries", "entries"
                break
            entry = _read_entry(view, position, size)
            entries.append(entry)
            position = entry.end
    except Malformed as error:
        broken = f"entry {len(entries)}: {error}"
    return Region(size, tuple(entries), broken, limit, min(position, view.size))


def _read_entry(view: ByteView, offset: int, region_end: int) -> FatbinEntry:
    data = view.peek(offset, _ENTRY_READ)
    if len(data) < _ENTRY.size or offset + _ENTRY.size > region_end:
        raise Malformed(f"{region_end - offset} bytes are too few for an entry header")
    fields = EntryHeader._make(_ENTRY.unpack_from(data))
    end = offset + fields.header_size + fields.payload_size
    if fields.header_size < _ENTRY.size:
        raise Malformed(f"a header size of {fields.header_size} is below {_ENTRY.size}")
    if end > region_end:
        raise Malformed(f"it ends at {end:#x}, behind the end of its region at {region_end:#x}")
    if end > view.size:
        raise Malformed(f"it ends at {end:#x}, behind the end of the file")
    if fields.compressed_size > fields.payload_size:
        raise Malformed(
            f"{fields.compressed_size} compressed bytes in a payload of {fields.payload_size}"
        )
    if fields.header_size > len(data) and fields.kind != KIND_CONCATENATED:
        data = view.read(offset, min(fields.header_size, 1 << 20))
    return FatbinEntry(offset, fields, _identifier(data, fields), _options(data, fields))


def _identifier(header: bytes, fields: EntryHeader) -> str | None:
    start, size = fields.identifier_offset, fields.identifier_size
    if not start or not size or start + size > min(len(header), fields.header_size):
        return None
    return header[start : start + size].decode("utf-8", "replace")


def _options(header: bytes, fields: EntryHeader) -> str | None:
    """The compiler options; cubins may keep a binary blob in that place, which is none."""
    at = fields.options_offset
    if not at or fields.kind == KIND_CONCATENATED or at + _OPTIONS.size > len(header):
        return None
    start, size = _OPTIONS.unpack_from(header, at)
    text = header[start : start + size].rstrip(b"\0")
    if not text or text[0] < 0x20 or fields.flags & _FLAG_COMPAT_BLOB:
        return None
    return text.decode("utf-8", "replace").strip() or None


def _problems(entry: FatbinEntry) -> tuple[str, ...]:
    """Sentences about a header unlike those of every writer; nobody knows what readers do then.

    nvJitLink refuses such an entry or dies of it, and the driver passes over some and dies of
    others.
    """
    fields = entry.fields
    flags = fields.flags
    found = []
    if flags & ~_FLAGS_KNOWN:
        found.append(f"its entry has flags of no known meaning, {flags & ~_FLAGS_KNOWN:#x}")
    if not flags & _FLAG_64_BIT:
        found.append("its entry says that it is no 64-bit code")
    if flags & _FLAGS_SUFFIX == _FLAGS_SUFFIX:
        found.append("its entry says both a and f, of which an architecture has one at most")
    if not fields.sm and fields.kind in _KINDS_WITH_ARCH:
        found.append("its entry names no architecture")
    packed = entry.compression is not Compression.NONE
    if flags & _FLAG_SCRAMBLED and not (packed and fields.kind == _KIND_LTOIR):
        found.append("its entry says that it is scrambled, which compressed LTO-IR alone is")
    if not packed and (fields.compressed_size or fields.decoded_size):
        found.append("its entry has the sizes of compressed code, and says that it is not")
    descriptor_end = fields.options_offset + _OPTIONS.size
    if fields.options_offset and descriptor_end > fields.header_size:
        found.append(
            f"its entry keeps its options at {fields.options_offset:#x}, outside of its header of "
            f"{fields.header_size} bytes"
        )
    return tuple(found)


def stored_images(
    view: ByteView, entry: FatbinEntry, place: Place, section: str | None, budget: Budget
) -> Iterator[StoredImage]:
    """The images of one entry: itself, or those of a concatenated one.

    Args:
        view: bytes from the start of the region.
        entry: an entry of that region.
        place: place of the entry.
        section: name of the host section around it.
        budget: account of the file.
    """
    payload = _payload(view, entry, budget)
    outer = _stored(entry, payload, place, section)
    if outer.scrambled:
        header = view.read(entry.offset, entry.fields.header_size)
        outer = outer._replace(entry_header=header)
    if entry.fields.kind == KIND_CONCATENATED:
        directory = view.sub(entry.offset, entry.fields.header_size)
        yield from _concatenated(directory, entry, outer)
    else:
        yield outer


def _payload(view: ByteView, entry: FatbinEntry, budget: Budget) -> Payload:
    fields = entry.fields
    compression = entry.compression
    packed = compression is not Compression.NONE
    size = fields.compressed_size if packed else fields.payload_size
    stored = view.sub(entry.payload_offset, size)
    return Payload(stored, compression, fields.decoded_size if packed else None, budget)


def _stored(entry: FatbinEntry, payload: Payload, place: Place, section: str | None) -> StoredImage:
    fields = entry.fields
    flags = fields.flags
    kind = _KINDS.get(fields.kind, ImageKind.UNKNOWN)
    return StoredImage(
        place=place,
        section=section,
        kind=kind,
        kind_number=fields.kind,
        payload=payload,
        stored_size=payload.stored.size,
        compression=payload.compression,
        version=(fields.version_major, fields.version_minor),
        arch=_arch(fields.sm, flags & _FLAGS_SUFFIX, kind) if fields.sm else None,
        scrambled=bool(flags & _FLAG_SCRAMBLED) and kind is ImageKind.LTOIR,
        relocatable=True if fields.kind == KIND_RELOCATABLE_PTX else None,
        debug=bool(flags & _FLAG_DEBUG),
        host_os=next((name for bit, name in _FLAG_HOSTS.items() if flags & bit), None),
        options=entry.options,
        lacks_options=kind in _KINDS_WITH_OPTIONS and not fields.options_offset,
        identifier=entry.identifier,
        problems=_problems(entry),
    )


@functools.lru_cache(maxsize=1024)
def _arch(number: int, flags: int, kind: ImageKind) -> SmArch:
    suffix = "a" if flags & _FLAG_ACCELERATED else "f" if flags & _FLAG_FAMILY else ""
    return SmArch(number, suffix, kind.arch_form)


def _concatenated(
    directory: ByteView, entry: FatbinEntry, outer: StoredImage
) -> Iterator[StoredImage]:
    """The images inside a concatenated entry.

    Its header holds u32 count, u32 size, and ``count`` headers of the usual layout in which the
    header size is the payload's offset in the decoded outer payload, and the payload size exact.
    """
    budget = outer.payload.budget
    data = ByteView.of(outer.payload.decode())
    position = entry.fields.options_offset
    count, _ = directory.unpack(_DIRECTORY, position)
    if count > budget.limits.entries:
        raise LimitExceeded("entries", f"the concatenated entry says {count} images")
    position += _DIRECTORY.size
    for number in range(count):
        header = directory.peek(position, 1 << 16)
        if len(header) < _ENTRY.size:
            raise Malformed(f"the directory ends before image {number} of {count}")
        fields = EntryHeader._make(_ENTRY.unpack_from(header))
        size = _inline_size(header, fields)
        named = fields._replace(header_size=size)
        inner = FatbinEntry(position, named, _identifier(header, named), _options(header, named))
        stored = data.sub(fields.header_size, fields.payload_size)
        payload = Payload(stored, Compression.NONE, None, budget)
        place = outer.place.at(outer.place.offset or 0, *outer.place.entry, number)
        image = _stored(inner, payload, place, outer.section)
        yield image._replace(
            # Each image takes its share of the stored bytes, so that sizes add up to the file's.
            stored_size=outer.payload.stored.size * stored.size // max(data.size, 1),
            compression=outer.compression,
            problems=(*outer.problems, *image.problems),
        )
        position += size


def _inline_size(header: bytes, fields: EntryHeader) -> int:
    """Size of a directory header, which is not stored: all its parts, each padded to 8 bytes."""
    size = _ENTRY.size
    if fields.identifier_offset:
        size = max(size, _padded(fields.identifier_offset + fields.identifier_size + 1))
    at = fields.options_offset
    if at and at + _OPTIONS.size <= len(header):
        start, length = _OPTIONS.unpack_from(header, at)
        size = max(size, _padded(start + length + 1))
    return size


def _padded(size: int) -> int:
    return (size + 7) // 8 * 8


def single_entry_region(header: bytes, payload: bytes) -> bytes:
    """A region that holds one entry, whose header is kept as it was.

    Args:
        header: the entry's header, variable part included.
        payload: its stored bytes, without padding.
    """
    body = header + payload.ljust(_padded(len(payload)), b"\0")
    return NEEDLE + struct.pack("<Q", len(body)) + body
