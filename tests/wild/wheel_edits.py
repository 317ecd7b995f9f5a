"""Released wheels, changed as a worse release would be: by bytes of fatbins, or by metadata.

A fatbin is walked by its layout in words: a region is `50 ED 55 BA`, its header's size at +6 and
its body's at +8; an entry has its kind at 0, its header's size at +4, its payload's at +8, the
version of its code at +0x18, its SM number at +0x1C and flags at +0x28.
"""

from __future__ import annotations

import base64
import hashlib
import re
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MAGIC = bytes.fromhex("50ED55BA01001000")
SASS, LTOIR = 2, 8
Edit = Callable[[bytes], bytes]


def rewritten(wheel: Path, folder: Path, edits: Mapping[str, Edit]) -> Path:
    """The wheel with members edited that these patterns match, and with sums that pip checks."""
    path = folder / wheel.name
    record, lines = "", []
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(path, "w", 8, compresslevel=1) as new:
        for info in old.infolist():
            if info.filename.endswith(".dist-info/RECORD"):
                record = info.filename
                continue
            data = old.read(info)
            for pattern, edit in edits.items():
                data = edit(data) if re.search(pattern, info.filename) else data
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{info.filename},sha256={digest},{len(data)}\n")
            new.writestr(info.filename, data)
        new.writestr(record, "".join([*lines, f"{record},,\n"]))
    return path


def replaced(old: str, new: str) -> Edit:
    """METADATA with one line written otherwise; an empty ``new`` drops it."""

    def edit(data: bytes) -> bytes:
        line = f"{old}\n".encode()
        assert data.count(line) == 1, old
        return data.replace(line, f"{new}\n".encode() if new else b"")

    return edit


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a region, as it is stored."""

    data: bytes

    @property
    def kind(self) -> int:
        return int(struct.unpack_from("<H", self.data)[0])

    @property
    def number(self) -> int:
        return int(struct.unpack_from("<I", self.data, 0x1C)[0])


def entries(body: bytes) -> Iterator[Entry]:
    at = 0
    while at < len(body):
        header, payload = struct.unpack_from("<IQ", body, at + 4)
        yield Entry(body[at : at + header + payload])
        at += header + payload


def with_regions(data: bytes, edit: Callable[[list[Entry]], list[bytes]]) -> bytes:
    """The file with each region's entries edited; what a region gets shorter by is zeros."""
    new, at = bytearray(data), data.find(MAGIC)
    while at >= 0:
        (size,) = struct.unpack_from("<Q", data, at + 8)
        body = b"".join(edit(list(entries(data[at + 16 : at + 16 + size]))))
        assert len(body) <= size
        new[at + 8 : at + 16 + size] = struct.pack("<Q", len(body)) + body.ljust(size, b"\0")
        at = data.find(MAGIC, at + 16 + size)
    return bytes(new)


def without_archs(*numbers: int) -> Edit:
    """No code for these architectures, as of a build whose list of them got shorter."""

    def edit(found: list[Entry]) -> list[bytes]:
        return [entry.data for entry in found if entry.number not in numbers]

    return lambda data: with_regions(data, edit)
