"""What bytes contradict, by the descriptions of their formats and by readers that aren't ours.

Each judge looks at one format and knows nothing of the program; where it names something, a reader
that passes on without a word has not read all of the file.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import json
import lzma
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import lz4.block
import zstandard

_GAP = 64  # bytes of a zip that may pad or describe members
_MOST = 4 << 20
_CUT_TEXT = "a PTX text ends inside of a body"
_OTHER_GPU = "an image is for another GPU than its entry says"
OF_IMAGES = (_CUT_TEXT, _OTHER_GPU)
"""What may be told of an image that can be read."""


def contradiction(data: bytes) -> str | None:
    """The first thing in a file that its own format forbids; None where none is known."""
    for start, judge in _JUDGES:
        at, magic = start
        if data[at : at + len(magic)] == magic:
            return next(judge(data), None)
    return next(_ptx(data), None)


def _ptx(data: bytes) -> Iterator[str]:
    """PTX ISA, "Statements": bodies and lists have braces at both ends."""
    if not re.match(rb"\s*(//[^\n]*\n\s*)*\.version ", data) or b"/*" in data:
        return
    code = re.sub(rb'"[^"\n]*"', b"", re.sub(rb"//[^\n]*", b"", data))
    if code.count(b"{") != code.count(b"}"):
        yield _CUT_TEXT


def _u(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _zip(data: bytes) -> Iterator[str]:
    """APPNOTE 4.3: members, directory, end; every member by Python's own reader."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos, start, comment = archive.infolist(), archive.start_dir, archive.comment
            if sum(info.file_size for info in infos) > _MOST:
                return
            if archive.testzip() is not None:
                yield "a member of a zip has a wrong sum"
    except NotImplementedError:
        return  # a version or method that it doesn't know
    except Exception:  # noqa: BLE001 - it says no, however it says it
        yield "a zip that Python's reader refuses"
        return
    yield from _members_of_zip(data, infos, (start, len(data) - len(comment) - 22))


def _members_of_zip(
    data: bytes, infos: list[zipfile.ZipInfo], directory: tuple[int, int]
) -> Iterator[str]:
    """The end counts the members, and nothing lies between them; one of 64 bits has its size."""
    start, end = directory
    if data[end : end + 4] != b"PK\5\6":
        return
    if data[end - 20 : end - 16] == b"PK\6\7":
        yield from _wide_end(data, end)
        return
    facts = {
        "a folder of a zip has bytes": any(i.is_dir() and i.file_size for i in infos),
        "a name in a zip leads out of it": any(_leads_out(i.filename) for i in infos),
        "the end of a zip counts another number of members": _u(data, end + 10, 2) != len(infos),
    }
    yield from (fact for fact, there in facts.items() if there)
    spans = [(start, len(data))]
    for info in infos:
        at = info.header_offset
        size = 30 + _u(data, at + 26, 2) + _u(data, at + 28, 2) + info.compress_size
        spans.append((at, at + size))
    reached = 0
    for first, last in sorted(spans):
        if first - reached > _GAP and data[reached:first].strip(b"\0"):
            yield "bytes of a zip belong to no member"
        reached = max(reached, last)


def _wide_end(data: bytes, end: int) -> Iterator[str]:
    wide = _u(data, end - 12, 8)
    if data[wide : wide + 4] == b"PK\6\6" and wide + 12 + _u(data, wide + 4, 8) != end - 20:
        yield "the 64-bit end of a zip has another size than it says"


def _leads_out(name: str) -> bool:
    return name.startswith("/") or os.path.normpath(name).startswith("../")


def _tar(data: bytes) -> Iterator[str]:
    """POSIX pax(1): blocks with sums, then a block of zeros, and nothing behind it."""
    at, blobs, listed, twice = 0, dict[str, bytes](), list[str](), False
    while (block := data[at : at + 512]).strip(b"\0"):
        if not _is_header(block):
            yield "a header of a tar has a wrong sum"
            return
        digits, kind = block[124:136].strip(b"\0 "), block[156:157]
        if not re.fullmatch(rb"[0-7]*", digits) or kind in b"xgXLK" or block[345:346].strip(b"\0"):
            return  # numbers and names of other kinds are judged by nobody here
        size = int(digits or b"0", 8) if kind not in b"123456" else 0
        if at + 512 + size > len(data):
            yield "a member of a tar ends behind the file"
            return
        if kind == b"S":
            yield "a tar has a sparse file"
        name = block[:100].split(b"\0")[0].decode("utf-8", "replace")
        blob = data[at + 512 : at + 512 + size]
        twice |= blobs.get(name, blob) != blob
        blobs[name] = blob
        listed.append(name)
        at += 512 + -(-size // 512) * 512
    # Of a container image the same again is no other; of any tar, unpacking keeps the last.
    image = bool(listed) and _OF_IMAGE.match(listed[0]) is not None
    facts = {
        "a tar ends without a block of zeros": len(block) < 512,
        "bytes follow the end of a tar": bool(data[at:].strip(b"\0")),
        "a tar ends in the middle of a block": len(data) % 512 > 0,
        "a tar has a name twice": twice or (len(set(listed)) < len(listed) and not image),
        "a name in a tar leads out of it": any(map(_leads_out, listed)),
    }
    yield from (fact for fact, there in facts.items() if there)
    if image:
        yield from _images(blobs)


def _is_header(block: bytes) -> bool:
    """POSIX counts unsigned bytes, and old writers signed ones."""
    unsigned = sum(block) - sum(block[148:156]) + 8 * 32
    negative = sum(byte > 127 for byte in block[:148] + block[156:])
    sums = {f"{unsigned:o}", f"{unsigned - 256 * negative:o}"}
    said = block[148:156].strip(b"\0 ")
    return len(block) == 512 and said.isdigit() and said.decode().lstrip("0") in sums


_OF_IMAGE = re.compile(
    r"[0-9a-f]{64}(/.*|\.json|\.tar)?$|blobs(/.*)?$|(manifest|index)\.json$|oci-layout$"
)


def _images(blobs: dict[str, bytes]) -> Iterator[str]:
    """Docker's and OCI's archives: layers are there, and have the digests that are their names."""
    try:
        listed = json.loads(blobs.get("manifest.json", b"[]"))
        layers = [layer for image in listed for layer in image["Layers"]]
    except (ValueError, TypeError, LookupError):
        return
    if any(layer not in blobs for layer in layers):
        yield "a container image lacks a layer"
    if "oci-layout" not in blobs or "index.json" not in blobs:
        return
    for kind, digest, data in _described(blobs["index.json"], blobs, depth=3):
        if hashlib.sha256(data).hexdigest() != digest:
            yield f"a {kind} of an OCI image has another digest"


def _described(
    text: bytes, blobs: dict[str, bytes], depth: int
) -> Iterator[tuple[str, str, bytes]]:
    """What an index or a manifest names, each with the digest by which it does."""
    try:
        value = json.loads(text)
        for kind in ("manifests", "layers", "config"):
            found = value.get(kind, ()) if depth else ()
            for each in [found] if isinstance(found, dict) else found:
                if each.get("platform", {}).get("os") == "unknown":  # no image
                    continue
                digest = each["digest"].removeprefix("sha256:")
                data = blobs["blobs/sha256/" + digest]
                if "sha256:" + digest == each["digest"]:
                    yield kind, digest, data
                if kind == "manifests":
                    yield from _described(data, blobs, depth - 1)
    except (ValueError, TypeError, LookupError, AttributeError):
        return


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _streams(make: Callable[[], _Decoder], magic: bytes) -> Callable[[bytes], Iterator[str]]:
    def judge(data: bytes) -> Iterator[str]:
        while data:
            if not data.startswith(magic):
                if data.strip(b"\0"):
                    yield "bytes follow a compressed stream"
                return
            decoder = make()
            try:
                decoder.decompress(data)
            except Exception:  # noqa: BLE001 - it says no, however it says it
                yield "a compressed stream that its library refuses"
                return
            if not decoder.eof:
                yield "a compressed stream is cut"
                return
            data = decoder.unused_data.lstrip(b"\0")

    return judge


def _ar(data: bytes) -> Iterator[str]:
    """ar(5): headers of 60 bytes at even places, each with the size of what follows."""
    at, first = 8, True
    while at < len(data):
        head = data[at : at + 60]
        if head[58:] != b"`\n" or not head[48:58].strip().isdigit():
            yield "a header of an archive of objects is broken"
            return
        size = int(head[48:58])
        if at + 60 + size > len(data):
            yield "a member of an archive of objects is cut"
            return
        if first and head[:16].rstrip() == b"/":
            body = data[at + 60 : at + 60 + size]
            places = struct.unpack(f">{len(body[4:]) // 4}I", body[4 : len(body) // 4 * 4])
            if any(place >= len(data) for place in places[: int.from_bytes(body[:4], "big")]):
                yield "the index of an archive names a member behind its end"
        at, first = at + 60 + size + size % 2, False


def _elf(data: bytes) -> Iterator[str]:
    """gABI, chapters 4 and 5, of 64 bits and little-endian: tables and what they name are there."""
    if len(data) < 64 or not {*data[4:6]} <= {1, 2}:
        yield "an ELF file of no known class or order"
    if data[4:6] != b"\2\1" or len(data) < 64:
        return
    segments, sections = _u(data, 32, 8), _u(data, 40, 8)
    many, count, names = _u(data, 56, 2), _u(data, 60, 2), _u(data, 62, 2)
    if _u(data, 20, 4) != 1 and _u(data, 18, 2) != 190:
        yield "an ELF file is of no known version"
    if segments and many and (_u(data, 54, 2) != 56 or segments + 56 * many > len(data)):
        yield "the segments of an ELF file end behind it"
    if sections and count and (_u(data, 58, 2) != 64 or sections + 64 * count > len(data)):
        yield "the sections of an ELF file end behind it"
        return
    rows = [sections + 64 * number for number in range(count if sections else 0)]
    yield from _rows_of_elf(data, rows, names)
    for row in range(segments, segments + 56 * many, 56) if segments and not rows else ():
        if _u(data, row, 4) == 1 and _u(data, row + 8, 8) + _u(data, row + 32, 8) > len(data):
            yield "a segment of an ELF file ends behind it"


def _rows_of_elf(data: bytes, rows: list[int], names: int) -> Iterator[str]:
    """Sections lie in the file, and the table of their names is one of them."""
    for row in rows:
        kind, start, size = _u(data, row + 4, 4), _u(data, row + 24, 8), _u(data, row + 32, 8)
        if kind not in (0, 8) and size and start + size > len(data):
            yield "a section of an ELF file ends behind it"
    if (
        rows
        and _u(data, 18, 2) != 190
        and not (0 < names < len(rows) and _u(data, rows[names] + 4, 4) == 3)
    ):
        yield "the sections of an ELF file have no names"


def _pe(data: bytes) -> Iterator[str]:
    """Microsoft's "PE Format": the header that the first one leads to, and its sections."""
    at = _u(data, 0x3C, 4)
    if data[at : at + 4] != b"PE\0\0":
        yield "a program of Windows has no header"
        return
    table = at + 24 + _u(data, at + 20, 2)
    count = _u(data, at + 6, 2)
    if table + 40 * count > len(data):
        yield "the sections of a program of Windows end behind it"
        return
    for row in range(table, table + 40 * count, 40):
        virtual, size, start = _u(data, row + 8, 4), _u(data, row + 16, 4), _u(data, row + 20, 4)
        zeros = _u(data, row + 36, 4) & 0x80  # nothing of it is in the file
        if start and not zeros and start + min(size, virtual or size) > len(data):
            yield "a section of a program of Windows ends behind it"


def _fatbin(data: bytes) -> Iterator[str]:
    """A region says its size, its entries fill it, and what they hold decompresses."""
    at = 0
    while data[at : at + 4] == b"\x50\xed\x55\xba":
        end = at + 16 + _u(data, at + 8, 8)
        if end > len(data):
            yield "a region ends behind its file"
            return
        at += 16
        while at < end:
            header, size = _u(data, at + 4, 4), _u(data, at + 8, 8)
            if header < 64 or at + header + size > end:
                yield "an entry ends behind its region"
                return
            yield from _payload(data, at, header)
            at += header + size
        at += len(data[at:]) - len(data[at:].lstrip(b"\0"))  # linkers pad
    if data[at:].strip(b"\0"):
        yield "bytes follow the regions of a fatbin"


def _payload(data: bytes, at: int, header: int) -> Iterator[str]:
    flags, size, wanted = _u(data, at + 40, 8), _u(data, at + 16, 4), _u(data, at + 56, 8)
    body = data[at + header : at + header + size]
    if flags & 0x10000 or wanted > _MOST or _u(data, at, 2) not in (1, 2, 8):
        return
    try:
        if flags & 0x8000:
            decoded = zstandard.ZstdDecompressor().decompress(body, max_output_size=wanted or 1)
        elif flags & 0x2000:
            decoded = lz4.block.decompress(body, uncompressed_size=wanted)
        else:
            decoded, wanted = data[at + header :][: _u(data, at + 8, 8)], _u(data, at + 8, 8)
    except Exception:  # noqa: BLE001 - it says no, however it says it
        yield "an image does not decompress"
        return
    if len(decoded) != wanted:
        yield "an image decompresses to another size"
    elif _u(data, at, 2) in (1, 2) and not _is_for(decoded, _u(data, at + 28, 4)):
        yield _OTHER_GPU
    elif not _is_version(decoded, _u(data, at, 2), (_u(data, at + 26, 2), _u(data, at + 24, 2))):
        yield "an image is of another version than its entry says"


def _is_for(image: bytes, number: int) -> bool:
    """PTX ISA, ".target"; a cubin has the number in either of two bytes of its flags."""
    target = re.search(rb"^\.target\s+sm_(\d+)", image, re.MULTILINE)
    if image[:4] == b"\x7fELF" and len(image) > 64:
        said = {image[48], image[49]}
    else:
        said = {int(target[1])} if target else {number}
    return number in said or {number} | said >= {101, 110}


def _is_version(image: bytes, kind: int, said: tuple[int, int]) -> bool:
    """PTX ISA, ".version"; LTO-IR has its own behind its magic."""
    if kind == 8 and image[:4] == b"\xed\x43\x4e\x7f":
        return (image[4], image[5]) == said
    found = re.search(rb"^\.version\s+(\d+)\.(\d+)", image, re.MULTILINE) if kind == 1 else None
    return found is None or (int(found[1]), int(found[2])) == said


def _zstd() -> _Decoder:
    return zstandard.ZstdDecompressor(max_window_size=1 << 24).decompressobj()


_JUDGES: tuple[tuple[tuple[int, bytes], Callable[[bytes], Iterator[str]]], ...] = (
    ((0, b"PK\3\4"), _zip),
    ((257, b"ustar"), _tar),
    ((0, b"\x1f\x8b"), _streams(lambda: zlib.decompressobj(31), b"\x1f\x8b")),
    ((0, b"BZh"), _streams(bz2.BZ2Decompressor, b"BZh")),
    ((0, b"\xfd7zXZ\0"), _streams(lzma.LZMADecompressor, b"\xfd7zXZ\0")),
    ((0, b"\x28\xb5\x2f\xfd"), _streams(_zstd, b"\x28\xb5\x2f\xfd")),
    ((0, b"!<arch>\n"), _ar),
    ((0, b"\x7fELF"), _elf),
    ((0, b"MZ"), _pe),
    ((0, b"\x50\xed\x55\xba"), _fatbin),
)
