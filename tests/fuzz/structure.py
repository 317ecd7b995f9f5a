"""What the formats know of themselves: where their fields lie, and what they hold inside.

A form finds the fields of its format in any bytes, also in broken ones, and takes a container
apart so that a part can be changed and put back with right sizes, sums and compression.
"""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import random
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import lz4.block
import lz4.frame
import zstandard
from package_writer import (
    TAR_END,
    UTF8,
    Raw,
    padded,
    raw_zip,
    tar_header,
    tar_member,
    tar_of,
    zip_of,
)

from fuzz.json_values import looks_like_json, values_in
from fuzz.members import Entries, Entry, rearranged

Field = tuple[int, int]
"""Offset and size, bytes; little-endian as all formats here are."""

_MOST_FIELDS = 400
_MOST_PARTS = 40
_MOST_UNPACKED = 1 << 20
_SIZES = {"B": 1, "H": 2, "I": 4, "Q": 8}


@dataclass(frozen=True, slots=True)
class Part:
    """What lies inside a container, and how to put something else there."""

    data: bytes
    put: Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Form:
    """A format.

    Attributes:
        fits: whether bytes are of it.
        fields: where its numbers lie.
        parts: what it holds.
        rearrange: changes the members of a folder or an archive among each other; empty where it
            has none.
        finish: makes its sums right again.
    """

    fits: Callable[[bytes], bool]
    fields: Callable[[bytes], Iterator[Field]] = lambda _: iter(())
    parts: Callable[[bytes, random.Random], Iterator[Part]] = lambda _, __: iter(())
    rearrange: Callable[[bytes, random.Random], bytes] = lambda _, __: b""
    finish: Callable[[bytearray], None] = lambda _: None


def rearranging(
    entries: Callable[[bytes], Entries], build: Callable[[Entries, random.Random], bytes]
) -> Callable[[bytes, random.Random], bytes]:
    """Take the members out, change them among each other, and build anew of them."""

    def rearrange(data: bytes, dice: random.Random) -> bytes:
        found = entries(data)
        return build(rearranged(found, dice), dice) if found else b""

    return rearrange


def _row(layout: str, at: int) -> Iterator[Field]:
    """The fields of one row; ``layout`` is that of ``struct``, without signs."""
    number = ""
    for sign in layout:
        if sign.isdigit():
            number += sign
        elif sign == "x":
            at, number = at + int(number or 1), ""
        else:
            for _ in range(int(number or 1)):
                yield at, _SIZES[sign]
                at += _SIZES[sign]
            number = ""


def _rows(layout: str, at: int, count: int, step: int = 0) -> Iterator[Field]:
    size = step or struct.calcsize("<" + layout)
    for number in range(min(count, 64)):
        yield from _row(layout, at + number * size)


def _number(data: bytes | bytearray, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


# ELF: header, then tables at the places that it names (gABI, chapters 4 and 5).

_SECTION, _SEGMENT, _SYMBOL, _DYNAMIC, _RELA = "IIQQQQIIQQ", "IIQQQQQQ", "IBBHQQ", "QQ", "QQQ"
_TABLES = {2: _SYMBOL, 11: _SYMBOL, 6: _DYNAMIC, 4: _RELA, 9: "QQ", 7: "III"}


def _elf_fields(data: bytes) -> Iterator[Field]:
    yield from _row("4xBBBBB7x", 0)
    yield from _row("HHIQQQIHHHHHH", 16)
    segments, sections = _number(data, 32, 8), _number(data, 40, 8)
    yield from _rows(_SEGMENT, segments, _number(data, 56, 2))
    count = min(_number(data, 60, 2), 64)
    yield from _rows(_SECTION, sections, count)
    for number in range(count):
        at = sections + 64 * number
        kind, start, size = (_number(data, at + n, s) for n, s in ((4, 4), (24, 8), (32, 8)))
        layout = _TABLES.get(kind)
        if layout is not None:
            yield from _rows(layout, start, size // struct.calcsize("<" + layout))


def _elf_parts(data: bytes, _: random.Random) -> Iterator[Part]:
    """The contents of sections, which keep their size."""
    sections = _number(data, 40, 8)
    for number in range(min(_number(data, 60, 2), 64)):
        at = sections + 64 * number
        start, size = _number(data, at + 24, 8), _number(data, at + 32, 8)
        if 0 < size <= len(data) and start + size <= len(data):
            yield Part(data[start : start + size], _in_place(data, start, size))


def _in_place(data: bytes, start: int, size: int) -> Callable[[bytes], bytes]:
    return lambda new: data[:start] + new[:size].ljust(size, b"\0") + data[start + size :]


# PE and COFF (Microsoft's "PE Format").

_COFF_HEADER, _COFF_SECTION = "HHIIIHH", "8xIIIIIIHHI"


def _coff_at(data: bytes, at: int, tables: int) -> Iterator[Field]:
    yield from _row(_COFF_HEADER, at)
    count = _number(data, at + 2, 2)
    yield from _rows(_COFF_SECTION, tables, count, 40)
    yield from _rows("8xIHHBB", _number(data, at + 8, 4), _number(data, at + 12, 4), 18)
    for number in range(min(count, 64)):
        section = tables + 40 * number
        relocations, many = _number(data, section + 24, 4), _number(data, section + 32, 2)
        if relocations:
            yield from _rows("IIH", relocations, many, 10)


def _coff_fields(data: bytes) -> Iterator[Field]:
    yield from _coff_at(data, 0, 20 + _number(data, 16, 2))


def _pe_fields(data: bytes) -> Iterator[Field]:
    yield 0x3C, 4
    at = _number(data, 0x3C, 4)
    optional = at + 24
    yield from _row("HBBIIIIIQIIHHHHHHIIIIHHQQQQII", optional)
    yield from _rows("II", optional + 112, 16)
    yield from _coff_at(data, at + 4, optional + _number(data, at + 20, 2))
    yield from _pe_directories(data, optional, optional + _number(data, at + 20, 2))


def _pe_directories(data: bytes, optional: int, tables: int) -> Iterator[Field]:
    """Rows of the exports and of both import tables, by the section that holds them."""
    for index, layout in ((0, "IIHHIIIIIII"), (1, "IIIII"), (13, "IIIIIIII")):
        address = _number(data, optional + 112 + 8 * index, 4)
        for number in range(16):
            section = tables + 40 * number
            start, size = _number(data, section + 12, 4), _number(data, section + 8, 4)
            if address and start <= address < start + size:
                offset = address - start + _number(data, section + 20, 4)
                yield from _rows(layout, offset, 1 if index == 0 else 4)


def _is_coff(data: bytes) -> bool:
    return data[:2] in (b"\x64\x86", b"\x64\xaa", b"\x4c\x01") or data[:4] == b"\0\0\xff\xff"


# Fatbin regions and their entries.

_REGION = b"\x50\xed\x55\xba"
_ENTRY = "HHIQIIHHIIIQQQ"
_LZ4, _ZSTD = 0x2000, 0x8000


def _entries(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Offset, header size and payload size of the entries of the first region."""
    at = data.find(_REGION)
    position = at + 16
    for _ in range(_MOST_PARTS if at >= 0 else 0):
        header, payload = _number(data, position + 4, 4), _number(data, position + 8, 8)
        if header < 64 or position + header + payload > len(data):
            return
        yield position, header, payload
        position += header + payload


def _region_fields(data: bytes) -> Iterator[Field]:
    at = data.find(_REGION)
    yield from _row("IHHQ", at)
    for position, header, _ in _entries(data):
        yield from _row(_ENTRY, position)
        options = _number(data, position + 20, 4)
        if options and options + 8 <= header:
            yield from _row("II", position + options)
        if _number(data, position, 2) == 0x100:
            yield from _rows(_ENTRY, position + options + 8, 4)


def _region_parts(data: bytes, dice: random.Random) -> Iterator[Part]:
    """The payloads as they are decoded; put back they are compressed as they were, or otherwise."""
    for position, header, size in _entries(data):
        stored = data[position + header : position + header + size]
        flags = _number(data, position + 40, 8)
        packed = stored[: _number(data, position + 16, 4)]
        text = _decoded(packed, flags, _number(data, position + 56, 8), stored)
        if text is not None:
            yield Part(text, _entry_putter(data, (position, header, size), flags, dice))


def _region_entries(data: bytes) -> Entries:
    """The entries with their headers, which have no name."""
    return [
        Entry(b"", data[at : at + header + size])
        for at, header, size in _entries(data)
        if data.startswith(_REGION)
    ]


def _region_of(entries: Entries, _: random.Random) -> bytes:
    body = b"".join(entry.data for entry in entries)
    return struct.pack("<4sHHQ", _REGION, 1, 16, len(body)) + body


def _decoded(packed: bytes, flags: int, size: int, stored: bytes) -> bytes | None:
    if size > _MOST_UNPACKED:
        return None
    try:
        if flags & _ZSTD:
            return zstandard.ZstdDecompressor().decompress(packed, max_output_size=size)
        if flags & _LZ4:
            return bytes(lz4.block.decompress(packed, uncompressed_size=size))
    except (zstandard.ZstdError, lz4.block.LZ4BlockError, ValueError, MemoryError):
        return None
    return stored


def _entry_putter(
    data: bytes, span: tuple[int, int, int], flags: int, dice: random.Random
) -> Callable[[bytes], bytes]:
    position, header, size = span

    def put(new: bytes) -> bytes:
        how = dice.choice((flags & (_LZ4 | _ZSTD),) * 4 + (0, _LZ4, _ZSTD))
        body, packed = new, 0
        if how:
            body = zstd(new) if how & _ZSTD else lz4.block.compress(new, store_size=False)
            packed = len(body)
        body += bytes(-len(body) % 8)
        head = bytearray(data[position : position + header])
        struct.pack_into("<Q", head, 8, len(body))
        struct.pack_into("<I", head, 16, packed & 0xFFFFFFFF)
        struct.pack_into("<Q", head, 40, flags & ~(_LZ4 | _ZSTD) & (1 << 64) - 1 | how)
        struct.pack_into("<Q", head, 56, len(new) if how else 0)
        whole = bytearray(data[:position] + head + body + data[position + header + size :])
        at = data.find(_REGION)
        before = _number(whole, at + 8, 8)
        struct.pack_into("<Q", whole, at + 8, (before + len(body) - size) % (1 << 64))
        return bytes(whole)

    return put


def zstd(data: bytes) -> bytes:
    """A frame that says its size."""
    return zstandard.ZstdCompressor(level=1).compress(data)


# What the target of payloads takes: compression, three bytes of the size (in 256 for l and z).


def _is_payload(data: bytes) -> bool:
    return data[:1] in (b"L", b"l", b"Z", b"z") and 4 < len(data) < _MOST_UNPACKED


def _payload_parts(data: bytes, dice: random.Random) -> Iterator[Part]:
    size = int.from_bytes(data[1:4], "little") << (8 if data[:1] in (b"l", b"z") else 0)
    flags = _ZSTD if data[4:8] == b"\x28\xb5\x2f\xfd" else _LZ4
    text = None if data[4:8] == b"\x04\x22\x4d\x18" else _decoded(data[4:], flags, size, data)

    def put(new: bytes) -> bytes:
        new += bytes(-len(new) % 256)
        stored = zstd(new) if dice.random() < 0.5 else lz4.block.compress(new, store_size=False)
        sign = b"z" if stored.startswith(b"\x28\xb5\x2f\xfd") else b"l"
        return sign + (len(new) >> 8).to_bytes(3, "little") + stored

    if text is not None:
        yield Part(text, put)


# LTO-IR: a head of 16-bit and 32-bit numbers.


def _ltoir_fields(_: bytes) -> Iterator[Field]:
    yield from _row("IHHHHHHHHHHHHIIIIIIII", 0)


# Notes of cubins: owner size, size, type, then the numbers of tkinfo.


def _note_fields(data: bytes) -> Iterator[Field]:
    at = data.find(b"NVIDIA Corp")
    while at >= 12:
        yield from _row("III12xIIIIII", at - 12)
        at = data.find(b"NVIDIA Corp", at + 1)


# Archives.

_ZIP_ROWS = {
    b"PK\3\4": "4xHHHHHIIIHH",
    b"PK\1\2": "4xHHHHHHIIIHHHHHII",
    b"PK\5\6": "4xHHHHIIH",
    b"PK\6\6": "4xQHHIIQQQQ",
    b"PK\6\7": "4xIQI",
}


# Where names begin in a record of a zip, and where their lengths stand.
_ZIP_NAMES = {b"PK\3\4": (30, 26), b"PK\1\2": (46, 28)}


def _ends(at: int, size: int) -> Iterator[Field]:
    """The first and the last byte of a name."""
    if size:
        yield from ((at, 1), (at + size - 1, 1))


def _zip_fields(data: bytes) -> Iterator[Field]:
    for magic, layout in _ZIP_ROWS.items():
        at = data.find(magic)
        for _ in range(20):
            if at < 0:
                break
            yield from _row(layout, at)
            name, length = _ZIP_NAMES.get(magic, (0, 0))
            if length:
                yield from _ends(at + name, _number(data, at + length, 2))
            at = data.find(magic, at + 1)


def _zip_entries(data: bytes) -> Entries:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()[:_MOST_PARTS]
            if sum(info.file_size for info in infos) > _MOST_UNPACKED:
                return []
            return [
                Entry(
                    info.filename.encode("utf-8", "replace"),
                    archive.read(info),
                    link=stat.S_ISLNK(info.external_attr >> 16),
                )
                for info in infos
            ]
    except Exception:  # noqa: BLE001 - broken archives have no members
        return []


def _zip_of(entries: Entries, dice: random.Random) -> bytes:
    return raw_zip(
        *(
            Raw(
                entry.name[:0xFFFF],
                entry.data,
                method=dice.choice((0, 8)),
                mode=stat.S_IFLNK | 0o777 if entry.link else 0,
                flags=0 if entry.name.isascii() else UTF8,
            )
            for entry in entries
        )
    )


def _zip_parts(data: bytes, dice: random.Random) -> Iterator[Part]:
    entries = _zip_entries(data)
    for number, entry in enumerate(entries):
        yield Part(entry.data, _entry_of_zip_putter(entries, number, dice))


def _entry_of_zip_putter(
    entries: Entries, number: int, dice: random.Random
) -> Callable[[bytes], bytes]:
    def put(new: bytes) -> bytes:
        changed = replace(entries[number], data=new)
        return _zip_of([*entries[:number], changed, *entries[number + 1 :]], dice)

    return put


def _blocks(data: bytes) -> Iterator[int]:
    """Offsets of headers that tar would find."""
    at = 0
    while at + 512 <= len(data) and data[at + 257 : at + 262] == b"ustar":
        yield at
        at += 512 + -(-_tar_size(data, at) // 512) * 512


def _tar_fields(data: bytes) -> Iterator[Field]:
    for at in _blocks(data):
        # Sizes are text: a byte of it, and the first four, which may make it a binary number.
        yield from ((at + 124, 4), (at + 124, 1), (at + 134, 1), (at + 156, 1), (at + 482, 1))
        yield at + 512, 1
        yield from _ends(at, len(data[at : at + 100].split(b"\0")[0]))


def _tar_size(data: bytes, at: int) -> int:
    digits = data[at + 124 : at + 136].rstrip(b"\0 ")
    return int(digits, 8) if digits.isdigit() and not digits.strip(b"01234567") else 0


def _tar_parts(data: bytes, dice: random.Random) -> Iterator[Part]:
    names = dice.random() < 0.2
    for at in list(_blocks(data))[:_MOST_PARTS]:
        size = _tar_size(data, at)
        yield Part(data[at + 512 : at + 512 + size], _tar_putter(data, at, size))
        if names:
            yield Part(data[at : at + 100], _in_place(data, at, 100))
            yield Part(data[at + 157 : at + 257], _in_place(data, at + 157, 100))


def _tar_entries(data: bytes) -> Entries:
    found = []
    for at in list(_blocks(data))[:_MOST_PARTS]:
        name, kind = data[at : at + 100].rstrip(b"\0"), data[at + 156 : at + 157]
        if kind == b"2":
            found.append(Entry(name, data[at + 157 : at + 257].rstrip(b"\0"), link=True))
        elif kind in (b"0", b"\0"):
            found.append(Entry(name, data[at + 512 : at + 512 + _tar_size(data, at)]))
    return found


def _tar_of(entries: Entries, dice: random.Random) -> bytes:
    """Links are symbolic ones or, seldom, hard ones; long names have a member of their own."""
    found = []
    for entry in entries:
        target = entry.data if entry.link else b""
        kind = dice.choice((b"2", b"2", b"2", b"1")) if entry.link else b"0"
        for text, long in ((entry.name, b"L"), (target, b"K")):
            if len(text) > 100:
                found.append(tar_member(b"././@LongLink", text, long))
        size = 0 if entry.link else len(entry.data)
        found.append(tar_header(entry.name[:100], size, kind, target[:100]))
        found.append(b"" if entry.link else padded(entry.data))
    return b"".join(found) + TAR_END


def _tar_putter(data: bytes, at: int, size: int) -> Callable[[bytes], bytes]:
    after = at + 512 + -(-size // 512) * 512

    def put(new: bytes) -> bytes:
        head = data[at : at + 124] + b"%011o\0" % len(new) + data[at + 136 : at + 512]
        return data[:at] + head + new + bytes(-len(new) % 512) + data[after:]

    return put


def _tar_sums(data: bytearray) -> None:
    for at in _blocks(bytes(data)):
        data[at + 148 : at + 156] = b" " * 8
        data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])


def _ar_members(data: bytes) -> Iterator[tuple[int, int]]:
    at = 8
    for _ in range(_MOST_PARTS):
        digits = data[at + 48 : at + 58].strip()
        if at + 60 > len(data) or not digits.isdigit():
            return
        yield at, int(digits)
        at += 60 + int(digits) + int(digits) % 2


def _ar_fields(data: bytes) -> Iterator[Field]:
    for at, _ in _ar_members(data):
        yield from ((at, 1), (at + 1, 2), (at + 48, 1), (at + 49, 1), (at + 58, 2))


def _ar_parts(data: bytes, _: random.Random) -> Iterator[Part]:
    for at, size in _ar_members(data):
        yield Part(data[at : at + 58], _in_place(data, at, 58))
        if 0 < size <= _MOST_UNPACKED:
            yield Part(data[at + 60 : at + 60 + size], _ar_putter(data, at, size))


def _ar_putter(data: bytes, at: int, size: int) -> Callable[[bytes], bytes]:
    def put(new: bytes) -> bytes:
        head = data[: at + 48] + str(len(new)).encode().ljust(10)[:10] + data[at + 58 : at + 60]
        return head + new + b"\n" * (len(new) % 2) + data[at + 60 + size + size % 2 :]

    return put


def _ar_entries(data: bytes) -> Entries:
    return [
        Entry(data[at : at + 48], data[at + 60 : at + 60 + size])
        for at, size in _ar_members(data)
        if size <= _MOST_UNPACKED
    ]


def _ar_of(entries: Entries, dice: random.Random) -> bytes:
    found = [dice.choice((b"!<arch>\n", b"!<arch>\n", b"!<thin>\n"))]
    for entry in entries:
        head = entry.name[-48:].ljust(48) + str(len(entry.data)).encode().ljust(10) + b"`\n"
        found.append(head + entry.data + b"\n" * (len(entry.data) % 2))
    return b"".join(found)


# JSON.


def _json_parts(data: bytes, dice: random.Random) -> Iterator[Part]:
    return (Part(value, put) for value, put in itertools.islice(values_in(data, dice), _MOST_PARTS))


# Streams of one compressor.


def _stream(magic: bytes, pack: Callable[[bytes], bytes], unpack: Callable[[bytes], bytes]) -> Form:
    def parts(data: bytes, _: random.Random) -> Iterator[Part]:
        try:
            yield Part(unpack(data)[:_MOST_UNPACKED], pack)
        except Exception:  # noqa: BLE001 - broken streams have no parts
            return

    return Form(
        lambda data: data.startswith(magic), fields=lambda _: _row("BBBBHHHHI", 0), parts=parts
    )


def _gunzip(data: bytes) -> bytes:
    return zlib.decompressobj(31).decompress(data, _MOST_UNPACKED)


def _bzip2(data: bytes) -> bytes:
    """With blocks of 100 KB, and no more than 8 MiB: what repeats takes a minute for 60 MiB."""
    return bz2.compress(data[: 8 << 20], 1)


def _unzstd(data: bytes) -> bytes:
    with zstandard.ZstdDecompressor(max_window_size=1 << 24).stream_reader(data) as reader:
        return reader.read(_MOST_UNPACKED)


FORMS = {
    "elf": Form(lambda d: d.startswith(b"\x7fELF"), _elf_fields, _elf_parts),
    "pe": Form(lambda d: d.startswith(b"MZ"), _pe_fields),
    "region": Form(
        lambda d: 0 <= d.find(_REGION) < 4096,
        _region_fields,
        _region_parts,
        rearranging(_region_entries, _region_of),
    ),
    "ltoir": Form(lambda d: d.startswith(b"\xed\x43\x4e\x7f"), _ltoir_fields),
    "zip": Form(
        lambda d: d.startswith((b"PK\3\4", b"PK\5\6")),
        _zip_fields,
        _zip_parts,
        rearranging(_zip_entries, _zip_of),
    ),
    "tar": Form(
        lambda d: d[257:262] == b"ustar",
        _tar_fields,
        _tar_parts,
        rearranging(_tar_entries, _tar_of),
        _tar_sums,
    ),
    "ar": Form(
        lambda d: d.startswith((b"!<arch>\n", b"!<thin>\n")),
        _ar_fields,
        _ar_parts,
        rearranging(_ar_entries, _ar_of),
    ),
    "gz": _stream(b"\x1f\x8b", lambda d: gzip.compress(d, 1), _gunzip),
    "bz2": _stream(b"BZh", _bzip2, lambda d: bz2.BZ2Decompressor().decompress(d, 1 << 20)),
    "xz": _stream(
        b"\xfd7zXZ",
        lambda d: lzma.compress(d, preset=0),
        lambda d: lzma.LZMADecompressor(memlimit=1 << 26).decompress(d, 1 << 20),
    ),
    "zst": _stream(b"\x28\xb5\x2f\xfd", zstd, _unzstd),
    "json": Form(looks_like_json, parts=_json_parts),
    "coff": Form(_is_coff, _coff_fields),
    "payload": Form(_is_payload, lambda _: iter(((0, 1), (1, 2), (4, 4))), _payload_parts),
    "notes": Form(lambda d: 0 < d.find(b"NVIDIA Corp") < 65536, _note_fields),
}


def forms_of(data: bytes) -> list[Form]:
    """The forms that bytes have; a library with a fatbin has two."""
    return [form for form in FORMS.values() if form.fits(data)]


def fields_of(data: bytes, form: Form) -> list[Field]:
    """The fields that lie inside the bytes."""
    found = []
    for at, size in form.fields(data):
        if at >= 0 and at + size <= len(data):
            found.append((at, size))
        if len(found) >= _MOST_FIELDS:
            break
    return found


def _as_region(data: bytes) -> bytes:
    head = struct.pack("<HHIQIIHHIIIQQQ", 1, 0x101, 64, len(data), 0, 0, 4, 8, 80, 0, 0, 17, 0, 0)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(head) + len(data)) + head + data


def _as_archive(data: bytes) -> bytes:
    head = b"m.o/".ljust(48) + str(len(data)).encode().ljust(10) + b"`\n"
    return b"!<arch>\n" + head + data + b"\n" * (len(data) % 2)


WRAPPERS: tuple[Callable[[bytes], bytes], ...] = (
    _as_region,
    _as_archive,
    zstd,
    lambda data: gzip.compress(data, 1),
    lz4.frame.compress,
    lambda data: zip_of(("a/x.so", data), method=zipfile.ZIP_STORED),
    lambda data: zip_of(("a/x.so", data)),
    lambda data: tar_of(("a/x.so", data)),
    lambda data: tar_of(("a/x.so", data), kind=tarfile.GNU_FORMAT),
    lambda data: tar_member(b"a/x.so", data) + bytes(1024),
)
"""Containers to put bytes into."""
