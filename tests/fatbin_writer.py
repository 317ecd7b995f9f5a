"""A writer of fatbins for tests, from the layout in words: what it writes, readers must read."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import lz4.block
import zstandard

from ltocompat.files.byteview import ByteView
from ltocompat.files.images.cubin import Cubin
from ltocompat.model.limits import Budget

KINDS = {"ptx": 1, "sass": 2, "ltoir": 8, "relocatable ptx": 0x40, "tileir": 0x80}


@dataclass(frozen=True, slots=True)
class EntrySpec:
    """What an entry shall say and hold.

    Attributes:
        options: None leaves no place for them, as no tool does with PTX and LTO-IR.
    """

    kind: int
    payload: bytes
    sm: int = 80
    suffix: str = ""
    version: tuple[int, int] = (8, 4)
    compression: str = "none"
    debug: bool = False
    host: str | None = "linux"
    identifier: str = ""
    options: str | None = ""
    scrambled: bool = False

    @property
    def flags(self) -> int:
        bits = 0x1 | (0x2 if self.debug else 0)
        bits |= {"linux": 0x10, "mac": 0x20, "windows": 0x40, None: 0}[self.host]
        bits |= {"none": 0, "lz4": 0x2000, "zstd": 0x8000}[self.compression]
        bits |= {"": 0, "a": 0x100000, "f": 0x200000}[self.suffix]
        return bits | (0x10000 if self.scrambled else 0)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def packed(spec: EntrySpec) -> bytes:
    if spec.compression == "lz4":
        return bytes(lz4.block.compress(spec.payload, store_size=False))
    if spec.compression == "zstd":
        return zstandard.ZstdCompressor().compress(spec.payload)
    return spec.payload


def header(spec: EntrySpec, *, third: int, size: int, compressed: int, decoded: int) -> bytes:
    """An entry header. ``third`` is the word at +4; when 0 it becomes the header's own size."""
    variable = b""
    identifier = spec.identifier.encode()
    if identifier:
        variable = padded(identifier + b"\0")
    options_at = 0
    has_place = spec.kind in (KINDS["ptx"], KINDS["ltoir"]) and spec.options is not None
    if spec.options or has_place:
        options_at = 64 + len(variable)
        options = (spec.options or "").encode()
        variable += struct.pack("<II", options_at + 8, len(options)) + padded(options + b"\0")
        variable = padded(variable)
    fixed = struct.pack(
        "<HHIQIIHHIIIQQQ",
        spec.kind,
        0x101,
        third or 64 + len(variable),
        size,
        compressed,
        options_at,
        spec.version[1],
        spec.version[0],
        spec.sm,
        64 if identifier else 0,
        len(identifier),
        spec.flags,
        0,
        decoded,
    )
    return fixed + variable


def entry(spec: EntrySpec) -> bytes:
    stored = packed(spec)
    body = padded(stored)
    is_packed = spec.compression != "none"
    head = header(
        spec,
        third=0,
        size=len(body),
        compressed=len(stored) if is_packed else 0,
        decoded=len(spec.payload) if is_packed else 0,
    )
    return head + body


def region(entries: Sequence[bytes]) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def concatenated(specs: Sequence[EntrySpec], compression: str = "zstd") -> bytes:
    """A concatenated entry that holds the given images."""
    payload = b""
    heads = b""
    for spec in specs:
        plain = dataclasses.replace(spec, compression="none")
        heads += header(
            plain, third=len(payload) or 0xFFFFFFFF, size=len(spec.payload), compressed=0, decoded=0
        )
        payload = padded(payload + spec.payload)
    # The first payload lies at 0, which ``header`` would take for "compute it".
    heads = heads.replace(b"\xff\xff\xff\xff", b"\0\0\0\0", 1)
    directory = struct.pack("<II", len(specs), len(heads) + 8) + heads
    outer = EntrySpec(0x100, payload, sm=0, version=(0, 1), compression=compression)
    stored = packed(outer)
    body = padded(stored)
    is_packed = compression != "none"
    fixed = struct.pack(
        "<HHIQIIHHIIIQQQ",
        outer.kind,
        0x101,
        64 + len(padded(directory)),
        len(body),
        len(stored) if is_packed else 0,
        64,
        outer.version[1],
        outer.version[0],
        0,
        0,
        0,
        outer.flags,
        0,
        len(payload) if is_packed else 0,
    )
    return fixed + padded(directory) + body


# As ptxas compiles an empty body: the stack pointer is loaded, then EXIT (cuobjdump -sass).
RETURNS = bytes.fromhex("827b01ff000a00000008000000e20f004d790000000000000000800300ea0f00")


# nvcc 11.8 for sm_70, in lmdeploy 0.2.3: MOV R1, c[0x0][0x28]; @!PT SHFL.IDX; EXIT (nvdisasm).
RETURNS_ON_VOLTA = bytes.fromhex(
    "027a0100000a0000000f000000c60f0089f3ffffff000000ff000e0000e20f00"
    "4d790000000000000000800300ea0f00"
)


def hollow(cubin: bytes, returns: bytes = RETURNS) -> bytes:
    """A cubin whose kernel returns at once."""
    sections = Cubin.parse(ByteView.of(cubin), Budget()).sections
    (code,) = (section for section in sections if section.name.startswith(".text."))
    return cubin[: code.offset] + returns + cubin[code.offset + len(returns) :]
