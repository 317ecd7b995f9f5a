"""ELF hosts of a few hundred bytes, written byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

BASE = 0x10000
ET_REL, ET_EXEC, ET_DYN = 1, 2, 3
X86_64, AARCH64, CUDA = 62, 183, 190
PROGBITS, SYMTAB, STRTAB, RELA, NOBITS, REL, RELR = 1, 2, 3, 4, 8, 9, 19
REGION = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 0)
DT_NEEDED, DT_STRTAB, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_STRSZ, DT_SONAME = 1, 5, 6, 7, 8, 10, 14
DT_REL, DT_RELSZ, DT_RELRSZ, DT_RELR = 17, 18, 35, 36


@dataclass
class Part:
    """One section to write; its bytes may hold addresses once they are known."""

    name: str
    data: bytes
    kind: int = PROGBITS
    flags: int = 2
    link: int = 0
    info: int = 0


def wrapper(region: int, version: int = 1, array: int = 0) -> bytes:
    """CUDA's fatbinary_section.h, struct __fatBinC_Wrapper_t."""
    return struct.pack("<IIQQ", 0x466243B1, version, region, array)


def offsets(parts: list[Part]) -> dict[str, int]:
    """Where ``elf`` puts the sections."""
    found, at = {}, 0x200
    for part in parts:
        found[part.name] = at
        at += 0 if part.kind == NOBITS else -(-len(part.data) // 16) * 16
    return found


def elf(
    parts: list[Part],
    kind: int = ET_DYN,
    machine: int = X86_64,
    *,
    dynamic: str = "",
    headers: bool = True,
) -> bytes:
    """A 64-bit file with one segment over all of it, loaded at BASE."""
    at = offsets(parts)
    names = b"\0" + b"".join(part.name.encode() + b"\0" for part in parts) + b".shstrtab\0"
    body = b""
    for part in parts:
        body = body.ljust(at[part.name] - 0x200, b"\0")
        body += b"" if part.kind == NOBITS else part.data
    end = 0x200 + len(body) + len(names)
    table = b"\0" * 64
    for part in [*parts, Part(".shstrtab", names, STRTAB, 0)]:
        place = at.get(part.name, 0x200 + len(body))
        table += struct.pack(
            "<IIQQQQIIQQ",
            names.index(b"\0" + part.name.encode() + b"\0") + 1,
            part.kind,
            part.flags,
            0 if kind == ET_REL else BASE + place,
            place,
            len(part.data),
            part.link,
            part.info,
            8,
            24,
        )
    segments = [(1, 6, 0, end)]
    if dynamic:
        size = next(len(part.data) for part in parts if part.name == dynamic)
        segments.append((2, 6, at[dynamic], size))
    if kind == ET_REL:
        segments = []
    programs = b"".join(
        struct.pack("<IIQQQQQQ", sort, flags, start, BASE + start, 0, size, size, 8)
        for sort, flags, start, size in segments
    )
    count = len(parts) + 2
    head = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01",
        kind,
        machine,
        1,
        0,
        64 if programs else 0,
        end if headers else 0,
        0,
        64,
        56,
        len(segments),
        64,
        count if headers else 0,
        count - 1 if headers else 0,
    )
    return (head + programs).ljust(0x200, b"\0") + body + names + (table if headers else b"")


def tags(values: Mapping[int, int]) -> bytes:
    return b"".join(struct.pack("<QQ", *pair) for pair in values.items()) + bytes(16)


def symbol(name: int, info: int, section: int, value: int, size: int = 0) -> bytes:
    return struct.pack("<IBBHQQ", name, info, 0, section, value, size)


def linked(machine: int = X86_64, type_: int = 8, *, headers: bool = True) -> bytes:
    """Two regions in .nv_fatbin; a RELA relocation makes the wrapper point at the second one."""
    parts = [
        Part(".nv_fatbin", REGION * 2),
        Part(".nvFatBinSegment", wrapper(0), flags=3),
        Part(".rela.dyn", bytes(24), RELA),
        Part(".dynamic", bytes(16 * 4), 6),
    ]
    at = offsets(parts)
    parts[2].data = struct.pack(
        "<QQq", BASE + at[".nvFatBinSegment"] + 8, type_, BASE + at[".nv_fatbin"] + 16
    )
    parts[3].data = tags({DT_RELA: BASE + at[".rela.dyn"], DT_RELASZ: 24, 9: 24})
    return elf(parts, machine=machine, dynamic=".dynamic", headers=headers)


def with_wrappers(regions: int, targets: list[int | None]) -> bytes:
    """Regions in .nv_fatbin, and a wrapper for each target: the number of a region, or null."""
    pointing = [(row, to) for row, to in enumerate(targets) if to is not None]
    size = 24 * len(pointing)
    parts = [
        Part(".nv_fatbin", REGION * regions),
        Part(".nvFatBinSegment", wrapper(0) * len(targets), flags=3),
        Part(".rela.dyn", bytes(size), RELA),
        Part(".dynamic", bytes(16 * 4), 6),
    ]
    at = offsets(parts)
    slot, region = BASE + at[".nvFatBinSegment"] + 8, BASE + at[".nv_fatbin"]
    parts[2].data = b"".join(
        struct.pack("<QQq", slot + len(wrapper(0)) * row, 8, region + len(REGION) * to)
        for row, to in pointing
    )
    parts[3].data = tags({DT_RELA: BASE + at[".rela.dyn"], DT_RELASZ: size, 9: 24})
    return elf(parts, dynamic=".dynamic")


def addends_in_place(*, packed: bool) -> bytes:
    """A pointer that RELR, or REL, relocates by what the file has in its place."""
    parts = [
        Part(".nv_fatbin", REGION),
        Part(".nvFatBinSegment", wrapper(BASE + 0x200), flags=3),
        Part(".rel.dyn", bytes(16), RELR if packed else REL),
        Part(".dynamic", bytes(16 * 3), 6),
    ]
    at = offsets(parts)
    slot = BASE + at[".nvFatBinSegment"] + 8
    # RELR: an address 16 bytes before, then a bitmap whose bit 2 stands for the word 16 behind it.
    relr = struct.pack("<QQ", slot - 16, 1 << 2 | 1)
    parts[2].data = relr if packed else struct.pack("<QQ", slot, 8)
    names = (DT_RELR, DT_RELRSZ) if packed else (DT_REL, DT_RELSZ)
    parts[3].data = tags(dict(zip(names, (BASE + at[".rel.dyn"], 16), strict=True)))
    return elf(parts, dynamic=".dynamic")


def object_file(addend: int = 0) -> bytes:
    """What nvcc writes for -rdc=true: a relocation against the section symbol of __nv_relfatbin."""
    names = b"\0__fatbinwrap_x\0__cudaRegisterLinkedBinary_x\0__nvJitLinkCreate_12_4\0blob\0"
    symbols = [
        symbol(0, 0, 0, 0),
        symbol(0, 3, 1, 0),
        symbol(names.index(b"__fatbinwrap_x"), 0x11, 2, 0, 24),
        symbol(names.index(b"__cudaR"), 0x10, 0, 0),
        symbol(names.index(b"__nvJit"), 0x10, 0, 0),
        symbol(names.index(b"blob"), 1, 6, 4, 77),
    ]
    parts = [
        Part("__nv_relfatbin", REGION * 2),
        Part(".nvFatBinSegment", wrapper(0), flags=3),
        Part(".rela.nvFatBinSegment", struct.pack("<QQq", 8, 1 << 32 | 1, addend), RELA, 0, 4, 2),
        Part(".symtab", b"".join(symbols), SYMTAB, 0, 5),
        Part(".strtab", names, STRTAB, 0),
        Part(".rodata", bytes(16)),
    ]
    return elf(parts, ET_REL)


def two_device_links(order: bytes) -> bytes:
    """A program with two device links, whose module ids stand in this order."""
    parts = [
        Part("__nv_relfatbin", REGION * 2),
        Part(".nv_fatbin", REGION * 2),
        Part("__nv_module_id", order),
        Part(".nvFatBinSegment", b"", flags=3),
        Part(".symtab", b"", SYMTAB, 0, 6),
        Part(".strtab", b"\0__cudaPrelinkedFatbins\0", STRTAB, 0),
    ]
    arrays = [0x90000, 0x90010]
    parts[4].data = b"".join(symbol(1, 1, 7, array, 16) for array in arrays)
    rows = {0: (1, 0x200, 0), 1: (2, 0x220, arrays[0]), 2: (1, 0x210, 0), 3: (2, 0x230, arrays[1])}
    parts[3].data = b"".join(
        wrapper(BASE + region, version, array) for version, region, array in rows.values()
    )
    return elf(parts, ET_EXEC)
