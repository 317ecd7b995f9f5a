"""Formats by their first bytes, before any of their readers is loaded."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from enum import Enum, auto
from zlib import adler32

from ltocompat.files.byteview import ByteView, occurrences
from ltocompat.files.codec import ZSTD_MAGIC
from ltocompat.files.images import TILEIR

AR_MAGIC = b"!<arch>\n"
FATBIN_MAGIC = b"\x50\xed\x55\xba"
THIN_MAGIC = b"!<thin>\n"
DEB_MAGIC = b"!<arch>\ndebian-binary"
RPM_MAGIC = b"\xed\xab\xee\xdb"
ZIP_MAGIC = b"PK\3\4"
ZIP_END_MAGIC = b"PK\5\6"
GZIP_MAGIC = b"\x1f\x8b\x08"
BZIP2_MAGIC = b"BZh"
XZ_MAGIC = b"\xfd7zXZ\0"
# Of .lzma files, which have no magic: usual properties, a dictionary of 64 KiB to 2 GiB, and the
# unpacked size, unknown or below 1 TiB (LZMA file format, 1.1).
_LZMA = re.compile(
    rb"\x5d\0\0(?:[\1\2\4\x08\x10\x20\x40\x80]\0|\0[\1\2\4\x08])(?:\xff{8}|[\0-\xff]{5}\0{3})"
)
# Frames for the user's own data, which some writers put in front (RFC 8878, 3.1.2).
ZSTD_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
# A stream begins with a block (the digits of pi) or is empty (the root of pi).
_BZIP2 = re.compile(rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)")
# The text in front of the version in PTX, as compilers write it.
PTX_TEXT = b".version "
# Bytes of a header of tar.
BLOCK = 512
_ASCII = bytes(range(128))
# First bytes of programs, fatbins and LTO-IR: files that are no zips, whatever they end in.
CODE_MAGICS = (b"\x7fEL", b"MZ", FATBIN_MAGIC, b"\xed\x43\x4e\x7f")
COFF_MACHINES = {
    0x14C: "x86",
    **dict.fromkeys((0x1C0, 0x1C4), "ARM"),
    0x5064: "RISC-V",
    0x8664: "x86-64",
    0xAA64: "AArch64",
}
_BIG_COFF = b"\0\0\xff\xff"
_COFF = (*map(struct.Struct("<H").pack, COFF_MACHINES), _BIG_COFF)
_OTHER_WINDOWS = (b"NE", b"LE", b"LX")  # 16-bit Windows, its drivers, OS/2
_PE_HEADER = 24  # bytes: PE and two zeros, and the header of a COFF file
# Of the first header of a PE file: where its relocations are, where the next header is.
_DOS_HEADER = struct.Struct("<24xH34xI")


class Packing(Enum):
    """A compression method."""

    DEFLATE = auto()
    GZIP = auto()
    BZIP2 = auto()
    XZ = auto()
    ZIP_LZMA = auto()
    ZSTD = auto()


def is_ar(view: ByteView) -> bool:
    """Return whether this is a static archive, normal or thin."""
    return view.peek(0, len(AR_MAGIC)) in (AR_MAGIC, THIN_MAGIC)


def may_be_zip(view: ByteView) -> bool:
    """Return whether this may be a zip, which is also recognised by its end, after any bytes."""
    return not view.peek(0, _HEAD).startswith(CODE_MAGICS)


def may_be_coff(view: ByteView) -> bool:
    """Return whether this may be a Windows object file, which has no magic."""
    return view.peek(0, _HEAD).startswith(_COFF)


def lost_pe_header(view: ByteView, name: str) -> bool:
    """Return whether the second header of a PE file is missing.

    A DOS program, which is never a library, has its relocations at another offset, or no second
    header. Source: Microsoft, "PE Format", MS-DOS stub.
    """
    if view.peek(0, 2) != b"MZ":
        return False
    first = view.peek(0, _DOS_HEADER.size).ljust(_DOS_HEADER.size, b"\0")
    relocations, next_header = _DOS_HEADER.unpack(first)
    header = view.peek(next_header, _PE_HEADER)
    is_pe = header.startswith(b"PE\0\0") and len(header) == _PE_HEADER
    leads_on = relocations == _DOS_HEADER.size and next_header
    promised = name.lower().endswith((".dll", ".pyd"))
    return bool(leads_on or promised) and not is_pe and header[:2] not in _OTHER_WINDOWS


def packing_of(view: ByteView) -> Packing | None:
    """Return the compression of a stream; None for any other bytes."""
    head = view.peek(0, _HEAD)
    known = {
        Packing.GZIP: head.startswith(GZIP_MAGIC),
        Packing.BZIP2: _BZIP2.match(head),
        Packing.XZ: head.startswith(XZ_MAGIC) or _LZMA.match(head),
        Packing.ZSTD: head.startswith(ZSTD_MAGIC) or ZSTD_SKIPPABLE.match(head),
    }
    return next((packing for packing, there in known.items() if there), None)


def is_tar(block: bytes) -> bool:
    """Return whether a block can begin a tar: it is marked as ustar, or its checksum is right.

    A zip may have the mark by chance, in a stored member.
    """
    marked = block[257:262] == b"ustar" and not block.startswith(ZIP_MAGIC)
    return len(block) == BLOCK and (marked or checksum_holds(block))


def checksum_holds(block: bytes) -> bool:
    """Return whether the checksum of a tar header is right; old writers add signed bytes."""
    field = block[148:156].strip(b" \0")
    if not field or not field.isdigit() or b"8" in field or b"9" in field:
        return False
    blank, wanted = block[:148] + b" " * 8 + block[156:], int(field, 8)
    # Adler-32 begins at 1, and has the sum of so few bytes in its lower half.
    total = (adler32(blank[:256]) & 0xFFFF) + (adler32(blank[256:]) & 0xFFFF) - 2
    return wanted == total or wanted == total - 256 * len(blank.translate(None, _ASCII))


# The first file of what docker, podman, skopeo, buildx, crane and Jib write; or any layer.
_OF_IMAGE = re.compile(
    rb"(?:\./)?(?:[0-9a-f]{64}(?:/.*)?|sha256:[0-9a-f]{64}|blobs(?:/.*)?|oci-layout|repositories"
    rb"|(?:[0-9a-f]{64}|manifest|index|config)\.json|.*\.tar(?:\.gz|\.zst)?)"
)


_MOST_BEFORE = 8 * BLOCK  # bytes of headers that may come before the first file
_TYPE, _SIZE = slice(156, 157), slice(124, 136)  # of a header of tar
_OCTAL = re.compile(rb"[0-7]{1,11}")


def names_image(peek: Callable[[int], bytes]) -> bool:
    """Return whether a tar begins with a file of container image archives.

    Extended headers (pax) and the folder of all files may come before it.

    Args:
        peek: returns a number of first bytes of the tar; only needed bytes are requested.
    """
    end = BLOCK
    header = peek(end)
    while header[_TYPE] in (b"x", b"g") or header.startswith((b"./\0", b".\0")):
        size = _OCTAL.fullmatch(header[_SIZE].strip(b" \0"))
        if size is None or end + int(size[0], 8) > _MOST_BEFORE:
            return False
        end += BLOCK + int(size[0], 8) + -int(size[0], 8) % BLOCK
        header = peek(end)[end - BLOCK :]
    return _OF_IMAGE.fullmatch(header[:100].partition(b"\0")[0]) is not None


_MOST = 1 << 20  # bytes, as many as are searched at a time
_HEAD = 16
_TEXT = bytes((*b"\t\n\v\f\r", *range(0x20, 0x7F), *range(0x80, 0x100)))
_BEGINNINGS = (
    *(b"!<", BZIP2_MAGIC, GZIP_MAGIC, XZ_MAGIC, b"\x5d\0\0", ZIP_MAGIC, RPM_MAGIC),
    *(*CODE_MAGICS, TILEIR, *_COFF),
)
# What is found behind other bytes: PTX, and ends of zips, ELF, LTO-IR, Zstandard, regions.
_PTX = re.compile(rb"\.version\s++\d")
_ANYWHERE = (ZIP_END_MAGIC, b"\x7fELF", CODE_MAGICS[-1], ZSTD_MAGIC, FATBIN_MAGIC)
# Each but PTX has one of them, a region in the rest of its header; UTF-8 has none.
_NEVER_IN_TEXT = (b"\x00", b"\x05", b"\x7f", b"\xfd")


def is_text(view: ByteView) -> bool:
    """Return whether a file begins as text."""
    return not view.peek(0, _HEAD).translate(None, _TEXT)


def holds_no_code(view: ByteView) -> bool:
    """Return whether this is a small file of no known kind, like most members of packages.

    Such a file is no container, no host file and no device code; readers decide about all others.
    """
    if view.size > _MOST:
        return False
    data = view.all()
    if data.startswith(_BEGINNINGS) or ZSTD_SKIPPABLE.match(data):
        return False
    if occurrences(b".version", data) and _PTX.search(data):
        return False
    rare = any(map(data.__contains__, _NEVER_IN_TEXT))
    if rare and any(occurrences(needle, data) for needle in _ANYWHERE):
        return False
    return not is_tar(data[:BLOCK])
