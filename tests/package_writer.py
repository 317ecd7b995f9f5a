"""Packages for tests: sound ones by Python's own writers, broken ones byte by byte."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import zstandard

LOCAL = struct.Struct("<4s5H3L2H")
CENTRAL = struct.Struct("<4s6H3L5H2L")
END = struct.Struct("<4s4H2LH")
UTF8 = 1 << 11
ENCRYPTED = 1
UNIX = 3 << 8


def zip_of(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


@dataclass(slots=True)
class Raw:
    """A member of a zip as it is to be written; what is None is what it should be."""

    name: bytes
    data: bytes
    method: int = 8
    stored: bytes | None = None
    crc: int | None = None
    unpacked: int | None = None
    packed: int | None = None
    flags: int = 0
    local_name: bytes | None = None
    local_method: int | None = None
    header: int | None = None
    mode: int = 0
    extra: bytes = b""
    local_only: bool = False

    def bytes(self) -> bytes:
        if self.stored is not None:
            return self.stored
        return deflate(self.data) if self.method == 8 else self.data


def deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    return compressor.compress(data) + compressor.flush()


def raw_zip(
    *members: Raw, front: bytes = b"", end: Callable[[list[int]], list[int]] = lambda e: e
) -> bytes:
    """A zip by hand; ``end`` may change the fields of the end record."""
    body, directory, count = bytearray(front), bytearray(), 0
    for member in members:
        stored = member.bytes()
        crc = zlib.crc32(member.data) if member.crc is None else member.crc
        unpacked = len(member.data) if member.unpacked is None else member.unpacked
        packed = len(stored) if member.packed is None else member.packed
        header = len(body) if member.header is None else member.header
        sizes = (crc, packed, unpacked)
        if member.header is None:
            name = member.name if member.local_name is None else member.local_name
            method = member.method if member.local_method is None else member.local_method
            body += LOCAL.pack(b"PK\3\4", 20, member.flags, method, 0, 33, *sizes, len(name), 0)
            body += name + stored
        if member.local_only:
            continue
        count += 1
        tail = (len(member.name), len(member.extra), 0, 0, 0, member.mode << 16, header)
        made_by = UNIX | 20
        directory += CENTRAL.pack(
            b"PK\1\2", made_by, 20, member.flags, member.method, 0, 33, *sizes, *tail
        )
        directory += member.name + member.extra
    fields = end([0, 0, count, count, len(directory), len(body), 0])
    return bytes(body + directory) + END.pack(b"PK\5\6", *fields)


def tar_of(*members: tuple[str, bytes], kind: int = tarfile.PAX_FORMAT) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=kind) as archive:
        for name, data in members:
            header = tarfile.TarInfo(name)
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
    return file.getvalue()


def tar_header(
    name: bytes, size: bytes | int, kind: bytes = b"0", target: bytes = b"", prefix: bytes = b""
) -> bytes:
    """One header by hand, with a right checksum."""
    number = size if isinstance(size, bytes) else b"%011o\0" % size
    block = name.ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + number + b"0" * 11 + b"\0"
    block += b" " * 8 + kind + target.ljust(100, b"\0") + b"ustar\x0000"
    block = (block.ljust(345, b"\0") + prefix).ljust(512, b"\0")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def tar_member(name: bytes, data: bytes, kind: bytes = b"0") -> bytes:
    return tar_header(name, len(data), kind) + padded(data)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 512)


def pax(records: Iterable[tuple[str, str]], kind: bytes = b"x") -> bytes:
    data = b""
    for key, value in records:
        record = f" {key}={value}\n".encode()
        length = len(record) + len(str(len(record)))
        length = len(record) + len(str(length))
        data += str(length).encode() + record
    return tar_member(b"pax", data, kind)


TAR_END = bytes(1024)


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
    ".zst": zstd,
}


def conda_of(*members: tuple[str, bytes]) -> bytes:
    """A package of conda's second format: a zip that stores compressed archives."""
    return zip_of(
        ("metadata.json", b'{"conda_pkg_format_version": 2}'),
        ("pkg-x-1-0.tar.zst", zstd(tar_of(*members))),
        ("info-x-1-0.tar.zst", zstd(tar_of(("info/index.json", b"{}")))),
        method=zipfile.ZIP_STORED,
    )
