"""Broken files: each is a good sample after one small edit, which its `how` describes.

Offsets are those of formats.md. The fatbins used here start with their region header, so that the
first entry header is at 0x10; `second_entry` finds the next one from the sizes in the first.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from recipes.recipe import Broken

Edit = Callable[[bytes], bytes]
Where = int | Callable[[bytes], int]

ENTRY = 0x10
FAR = 0x7FFFFFF8
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
ZSTD = "fatbin/nvcc-13.0-default.fatbin"
LZ4 = "fatbin/nvcc-13.0-speed.fatbin"
STORED = "fatbin/nvcc-13.0-none.fatbin"
CONCAT = "fatbin/nvfatbin-13.5-concat.fatbin"
NAMED = "fatbin/nvfatbin-12.4-debug.fatbin"
CUBIN_V1 = "cubin/nvrtc-12.4-sm_80.cubin"
CUBIN_V2 = "cubin/nvcc-13.0-sm_80.cubin"
LTOIR = "ltoir/nvrtc-12.4-lto_80.ltoir"
PTX = "ptx/nvrtc-12.4-compute_80.ptx"


def put(layout: str, where: Where, value: int) -> Edit:
    """Overwrite one little-endian number."""

    def edit(data: bytes) -> bytes:
        offset = where if isinstance(where, int) else where(data)
        new = struct.pack(f"<{layout}", value)
        return data[:offset] + new + data[offset + len(new) :]

    return edit


def add(layout: str, where: Where, increment: int) -> Edit:
    """Add to one little-endian number."""

    def edit(data: bytes) -> bytes:
        offset = where if isinstance(where, int) else where(data)
        return put(layout, offset, number(data, layout, offset) + increment)(data)

    return edit


def cut(length: int) -> Edit:
    """Keep the first `length` bytes (all but the last -`length` if negative)."""
    return lambda data: data[:length]


def swap(old: bytes, new: bytes) -> Edit:
    """Replace the first occurrence of `old`, which must be there, by as many bytes."""

    def edit(data: bytes) -> bytes:
        if old not in data or len(old) != len(new):
            raise ValueError(f"cannot replace {old!r}")
        return data.replace(old, new, 1)

    return edit


def number(data: bytes, layout: str, offset: int) -> int:
    """Read one little-endian number."""
    return int(struct.unpack_from(f"<{layout}", data, offset)[0])


def payload(data: bytes) -> int:
    """Where the first entry's payload starts."""
    return ENTRY + number(data, "I", ENTRY + 4)


def second_entry(data: bytes) -> int:
    """Where the second entry starts."""
    return payload(data) + number(data, "Q", ENTRY + 8)


def in_second_entry(offset: int) -> Callable[[bytes], int]:
    """The place of a field of the second entry's header."""
    return lambda data: second_entry(data) + offset


def after(text: bytes, distance: int) -> Callable[[bytes], int]:
    """The offset `distance` bytes from the first occurrence of `text`."""
    return lambda data: data.index(text) + distance


def archive_member_size(size: int) -> Edit:
    """Overwrite the size (ten characters, 48 on) in the header of a GNU archive's first member."""

    def edit(data: bytes) -> bytes:
        start = data.index(b"/0 ") + 48
        return data[:start] + f"{size:<10}".encode() + data[start + 10 :]

    return edit


def garbage_payload(data: bytes) -> bytes:
    """Fill the first payload with 0xFF."""
    start, end = payload(data), second_entry(data)
    return data[:start] + b"\xff" * (end - start) + data[end:]


def rle_frame(size: int) -> bytes:
    """A valid Zstandard frame of `size` zero bytes: runs of 128 KiB, four bytes each (RFC 8878)."""
    run = 1 << 17
    blocks = size // run
    # Descriptor 0xC0: the content size has 8 bytes; 0x38: a window of 128 KiB.
    header = struct.pack("<IBBQ", 0xFD2FB528, 0xC0, 0x38, blocks * run)
    body = b"".join(
        ((run << 3) | (1 << 1) | (index == blocks - 1)).to_bytes(3, "little") + b"\0"
        for index in range(blocks)
    )
    return header + body


def bomb(data: bytes) -> bytes:
    """Replace the first payload by a frame of 256 MiB and correct all sizes."""
    size = 256 << 20
    frame = rle_frame(size)
    stored = frame + bytes(-len(frame) % 8)
    header = bytearray(data[ENTRY : payload(data)])
    struct.pack_into("<Q", header, 0x08, len(stored))
    struct.pack_into("<I", header, 0x10, len(frame))
    struct.pack_into("<Q", header, 0x38, size)
    body = bytes(header) + stored + data[second_entry(data) :]
    return data[:8] + struct.pack("<Q", len(body)) + body


def samples() -> Iterator[Broken]:
    """The folder broken."""
    yield from (*_regions(), *_entries(), *_payloads(), *_frames())
    yield from (*_concatenated(), *_cubins(), *_texts(), *_hosts())


def _regions() -> Iterator[Broken]:
    yield _broken("empty.bin", ZSTD, "every byte is gone", cut(0))
    yield _broken("region-header-cut.fatbin", ZSTD, "cut inside the region header", cut(12))
    yield _broken("region-body-cut.fatbin", ZSTD, "cut inside the last payload", cut(-100))
    huge = "the region's body size is 2**40"
    yield _broken("region-body-too-large.fatbin", ZSTD, huge, put("Q", 8, 1 << 40))
    wraps = "the region's body size is 2**64 - 8"
    yield _broken("region-body-overflows.fatbin", ZSTD, wraps, put("Q", 8, (1 << 64) - 8))
    short = "the region's body ends in the first entry"
    yield _broken("region-body-short.fatbin", ZSTD, short, put("Q", 8, 0x100))
    overlap = "the first region's body reaches 64 bytes into the second region"
    yield _broken("regions-overlap.fatbin", "fatbin/two-regions.fatbin", overlap, add("Q", 8, 64))
    yield _broken("region-version-2.fatbin", ZSTD, "the region's version is 2", put("H", 4, 2))
    wide = "the region's header size is 24"
    yield _broken("region-header-size-24.fatbin", ZSTD, wide, put("H", 6, 24))


def _entries() -> Iterator[Broken]:
    zero = "the first entry's header size is 0"
    yield _broken("entry-header-size-0.fatbin", ZSTD, zero, put("I", ENTRY + 4, 0))
    huge = "the first entry's header size is 2**32 - 8"
    yield _broken("entry-header-size-huge.fatbin", ZSTD, huge, put("I", ENTRY + 4, (1 << 32) - 8))
    past = "the last entry's payload is said to end 64 bytes after its region"
    size = in_second_entry(8)
    yield _broken("entry-payload-past-region.fatbin", ZSTD, past, add("Q", size, 64))
    wraps = "the first entry's payload size is 2**64 - 8"
    edit = put("Q", ENTRY + 8, (1 << 64) - 8)
    yield _broken("entry-payload-overflows.fatbin", ZSTD, wraps, edit)
    kind = "the first entry's kind is 0x20"
    yield _broken("entry-kind-0x20.fatbin", ZSTD, kind, put("H", ENTRY, 0x20))
    name = "the first entry's identifier is said to have 65535 bytes"
    edit = put("I", ENTRY + 0x24, 0xFFFF)
    yield _broken("entry-identifier-outside.fatbin", NAMED, name, edit)
    options = "the second entry's options descriptor is said to lie 2 GiB on"
    edit = put("I", in_second_entry(0x14), FAR)
    yield _broken("entry-options-outside.fatbin", NAMED, options, edit)


def _payloads() -> Iterator[Broken]:
    size = ENTRY + 0x38
    huge = "the first payload's uncompressed size is 2**40"
    yield _broken("zstd-size-lies.fatbin", ZSTD, huge, put("Q", size, 1 << 40))
    yield _broken("lz4-size-lies.fatbin", LZ4, huge, put("Q", size, 1 << 40))
    small = "the first payload's uncompressed size is 64"
    yield _broken("zstd-size-small.fatbin", ZSTD, small, put("Q", size, 64))
    yield _broken("lz4-size-small.fatbin", LZ4, small, put("Q", size, 64))
    less = "the first payload's compressed size is 64"
    yield _broken("zstd-cut.fatbin", ZSTD, less, put("I", ENTRY + 0x10, 64))
    more = "the first payload's compressed size is 2**32 - 1"
    yield _broken("zstd-stored-size-lies.fatbin", ZSTD, more, put("I", ENTRY + 0x10, (1 << 32) - 1))
    both = "the first entry's flags say LZ4 and zstd"
    yield _broken("both-compressions.fatbin", ZSTD, both, put("I", ENTRY + 0x28, 0xA011))


def _frames() -> Iterator[Broken]:
    yield _broken("zstd-bad-magic.fatbin", ZSTD, "the frame's magic is 0", put("I", payload, 0))
    yield _broken("zstd-bomb.fatbin", ZSTD, "the payload is a frame of 256 MiB of zeros", bomb)
    yield _broken("lz4-garbage.fatbin", LZ4, "the payload is 0xFF throughout", garbage_payload)
    lies = "the content size in the frame of the naked compressed cubin is 65791"
    edit = put("H", after(ZSTD_MAGIC, 5), 0xFFFF)
    yield _broken("naked-zstd-size-lies.o", "objects/naked.o", lies, edit)


def _concatenated() -> Iterator[Broken]:
    directory = ENTRY + 0x40
    count = "the first directory counts 1000 images"
    yield _broken("concat-count-lies.fatbin", CONCAT, count, put("I", directory, 1000))
    total = "the first directory is said to have 2**31 bytes"
    yield _broken("concat-total-lies.fatbin", CONCAT, total, put("I", directory + 4, 1 << 31))
    start = "the first contained image is said to start at 2**31"
    edit = put("I", directory + 8 + 4, 1 << 31)
    yield _broken("concat-offset-outside.fatbin", CONCAT, start, edit)
    away = "the first directory is said to lie 2 GiB on"
    yield _broken("concat-directory-outside.fatbin", CONCAT, away, put("I", ENTRY + 0x14, FAR))
    nested = "the first contained image is said to be a concatenated entry"
    yield _broken("concat-nested.fatbin", CONCAT, nested, put("H", directory + 8, 0x100))


def _cubins() -> Iterator[Broken]:
    yield _broken("cubin-shentsize-0.cubin", CUBIN_V1, "e_shentsize is 0", put("H", 0x3A, 0))
    yield _broken(
        "cubin-shoff-outside.cubin", CUBIN_V1, "e_shoff is 2**40", put("Q", 0x28, 1 << 40)
    )
    names = "e_shstrndx is 60000"
    yield _broken("cubin-shstrndx-outside.cubin", CUBIN_V2, names, put("H", 0x3E, 60000))
    yield _broken("cubin-cut.cubin", CUBIN_V2, "cut after 200 bytes", cut(200))
    note = "the size of the tkinfo note's description is 2**32 - 16"
    edit = put("I", after(b"NVIDIA Corp\0", -8), (1 << 32) - 16)
    yield _broken("cubin-note-lies.cubin", CUBIN_V2, note, edit)
    inside = "e_shoff of the uncompressed cubin is 2**40"
    edit = put("Q", lambda data: payload(data) + 0x28, 1 << 40)
    yield _broken("cubin-in-fatbin-shoff-outside.fatbin", STORED, inside, edit)


def _texts() -> Iterator[Broken]:
    blank = "the .target directive is blank"
    edit = swap(b".target sm_80", b" " * 13)
    yield _broken("ptx-no-target.ptx", PTX, blank, edit)
    yield _broken("ltoir-20-bytes.ltoir", LTOIR, "cut after 20 bytes", cut(20))
    tags = "the tag list is said to lie at 0xFFF0"
    yield _broken("ltoir-tags-outside.ltoir", LTOIR, tags, put("H", 12, 0xFFF0))
    body = "the body is said to lie at 2**31"
    yield _broken("ltoir-body-outside.ltoir", LTOIR, body, put("I", 20, 1 << 31))


def _hosts() -> Iterator[Broken]:
    library = "objects/libsaxpy.so"
    yield _broken("elf-shentsize-0.so", library, "e_shentsize is 0", put("H", 0x3A, 0))
    yield _broken("elf-shoff-outside.so", library, "e_shoff is 2**40", put("Q", 0x28, 1 << 40))
    far = "e_lfanew is 0x7FFFFFF8"
    yield _broken("pe-header-outside.dll", "objects/saxpy.dll", far, put("I", 0x3C, FAR))
    size = "the first member is said to have 999999 bytes"
    edit = archive_member_size(999999)
    yield _broken("archive-member-size.a", "objects/libaxpy.a", size, edit)
    name = "the first member's name is that of no file"
    edit = swap(b"nvcc-13.5-rdc-axpy", b"nvcc-99.9-rdc-axpy")
    yield _broken("archive-thin-member-missing.a", "objects/libaxpy-thin.a", name, edit)


def _broken(name: str, original: str, how: str, edit: Edit) -> Broken:
    return Broken(f"broken/{name}", original, how, edit)
