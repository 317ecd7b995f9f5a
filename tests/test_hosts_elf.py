"""ELF hosts: small files written here byte by byte, and broken in every way."""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from ltocompat.files.byteview import ByteView
from ltocompat.files.objects import ObjectFile, read_host
from ltocompat.model.errors import LimitExceeded, LtocompatError
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.place import Place

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


def read(data: bytes, budget: Budget | None = None) -> ObjectFile:
    host = read_host(ByteView.of(data), budget or Budget())
    assert host is not None
    return host


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


@pytest.mark.parametrize("headers", [True, False], ids=["sections", "no-sections"])
@pytest.mark.parametrize(("machine", "type_"), [(X86_64, 8), (AARCH64, 1027)])
def test_a_relative_relocation_registers_its_region(
    machine: int, type_: int, *, headers: bool
) -> None:
    host = read(linked(machine, type_, headers=headers))
    registration = host.registration()
    assert registration.known
    assert registration.registered(0x210) is True
    assert registration.registered(0x200) is False
    assert host.problems == ()


def test_an_unknown_relocation_leaves_registration_unknown_and_says_so() -> None:
    host = read(linked(type_=99))
    assert not host.registration().known
    assert host.registration().registered(0x210) is None
    assert any("wrappers cannot be followed" in problem for problem in host.problems)


def test_relocations_that_are_not_sorted_are_found() -> None:
    parts = [
        Part(".nv_fatbin", REGION * 2),
        Part(".nvFatBinSegment", wrapper(0) * 2, flags=3),
        Part(".rela.dyn", bytes(24 * 4), RELA),
        Part(".dynamic", bytes(16 * 4), 6),
    ]
    at = offsets(parts)
    slot, target = BASE + at[".nvFatBinSegment"] + 8, BASE + at[".nv_fatbin"]
    rows = [(slot + 24, target + 16), (slot + 900, 0), (slot, target), (slot - 900, 0)]
    parts[2].data = b"".join(struct.pack("<QQq", where, 8, to) for where, to in rows)
    parts[3].data = tags({DT_RELA: BASE + at[".rela.dyn"], DT_RELASZ: 24 * 4, 9: 24})
    registration = read(elf(parts, dynamic=".dynamic")).registration()
    assert registration.registered(0x200) is True
    assert registration.registered(0x210) is True


@pytest.mark.parametrize("packed", [True, False], ids=["RELR", "REL"])
def test_addends_in_place_are_read(*, packed: bool) -> None:
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
    assert read(elf(parts, dynamic=".dynamic")).registration().registered(0x200) is True


def test_pointers_of_a_fixed_executable_are_read_in_place() -> None:
    parts = [
        Part(".nv_fatbin", REGION * 2),
        Part(".nvFatBinSegment", wrapper(BASE + 0x210), flags=3),
    ]
    host = read(elf(parts, ET_EXEC))
    assert host.type == "executable"
    assert host.registration().registered(0x210) is True
    # The same bytes in a shared library mean nothing without a relocation.
    assert read(elf(parts, ET_DYN)).registration().registered(0x210) is None


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


def test_objects_are_resolved_through_their_symbol_table() -> None:
    host = read(object_file(addend=16))
    assert host.type == "object"
    assert host.registration().registered(0x210) is True
    assert host.registration().registered(0x200) is False


def test_open_names_are_listed_and_defined_ones_are_not() -> None:
    described = read(object_file()).describe(Place("x.o"))
    assert described.undefined_registrations == ("__cudaRegisterLinkedBinary_x",)
    assert described.nvjitlink_imports == ("__nvJitLinkCreate_12_4",)


def test_the_size_of_a_data_symbol_is_found_by_its_file_offset() -> None:
    data = object_file()
    host = read(data)
    rodata = next(section for section in host.sections if section.name == ".rodata")
    assert host.symbol_size(rodata.offset + 4) == 77
    assert host.symbol_size(rodata.offset) is None


@pytest.mark.parametrize(
    "order",
    [
        b"_a\0def _a\0\0_b\0def _b\0",
        b"_a\0def _a\0def _b\0\0_b\0",
        b"__NV_MODULE_ID\0_a\0def _a\0__NV_MODULE_ID\0_b\0def _b\0__NV_MODULE_ID\0",
    ],
    ids=["apart", "side-by-side", "among-objects-without-device-link"],
)
def test_two_device_links_keep_their_own_prelinked_regions(order: bytes) -> None:
    """As readelf -p __nv_module_id shows them for two nvcc -dlink objects, and for libnccl 2.32."""
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
    registration = read(elf(parts, ET_EXEC)).registration()
    assert registration.prelinked == {0x220: (0x200,), 0x230: (0x210,)}


def test_one_device_link_has_every_prelinked_region() -> None:
    parts = [
        Part("__nv_relfatbin", REGION * 2),
        Part(".nv_fatbin", REGION),
        Part(
            ".nvFatBinSegment",
            wrapper(BASE + 0x200) + wrapper(BASE + 0x210) + wrapper(BASE + 0x220, 2, 0x90000),
            flags=3,
        ),
    ]
    registration = read(elf(parts, ET_EXEC)).registration()
    assert registration.prelinked == {0x220: (0x200, 0x210)}
    assert all(registration.registered(region) for region in (0x200, 0x210, 0x220))


def test_sections_are_sorted_and_found_by_offset() -> None:
    host = read(linked())
    assert [s.name for s in host.sections] == [
        ".nv_fatbin",
        ".nvFatBinSegment",
        ".rela.dyn",
        ".dynamic",
        ".shstrtab",
    ]
    first = host.sections[0]
    assert (first.offset, first.size, first.address, first.fatbin) == (
        0x200,
        32,
        BASE + 0x200,
        True,
    )
    assert host.section_at(0x21F) == first
    assert host.section_at(0x1FF) is None
    assert host.section_at(1 << 40) is None


def test_a_cubin_is_no_host() -> None:
    assert read_host(ByteView.of(elf([], machine=CUDA)), Budget()) is None


def patched(data: bytes, offset: int, layout: str, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(layout, changed, offset, value)
    return bytes(changed)


@pytest.mark.parametrize(
    ("offset", "layout", "value", "text"),
    [
        (58, "<H", 0, "0 bytes instead of 64"),
        (60, "<H", 0xFFFE, "fit in the file"),
        (40, "<Q", 1 << 60, "fit in the file"),
        (54, "<H", 0, "0 bytes instead of 56"),
        (56, "<H", 0xFFFE, "fit in the file"),
        (62, "<H", 0xFFF0, "no names"),
    ],
    ids=["shentsize-0", "shnum", "shoff", "phentsize-0", "phnum", "shstrndx"],
)
def test_lying_headers_are_said_and_cost_no_more_than_their_part(
    offset: int, layout: str, value: int, text: str
) -> None:
    host = read(patched(linked(), offset, layout, value))
    assert any(text in problem for problem in host.problems)
    assert host.machine == "x86-64"


def test_a_section_outside_of_the_file_is_clipped_and_said() -> None:
    data = linked()
    start = struct.unpack_from("<Q", data, 40)[0] + 64
    host = read(patched(data, start + 32, "<Q", 1 << 40))
    assert host.sections[0].end == len(data)
    assert any("reaches outside" in problem for problem in host.problems)


def test_a_relocation_count_that_lies_ends_at_the_end_of_the_file() -> None:
    data = linked()
    size = data.index(struct.pack("<QQ", DT_RELASZ, 24)) + 8
    host = read(patched(data, size, "<Q", 1 << 50))
    assert host.registration().registered(0x210) is True


def test_too_many_sections_are_a_limit() -> None:
    with pytest.raises(LimitExceeded):
        read(linked(), Budget(Limits(sections=2)))


def survives(data: bytes) -> None:
    """Everything that can be asked ends in an answer or in one of our errors."""
    try:
        host = read_host(ByteView.of(data), Budget(Limits(seconds=20)))
        if host is not None:
            host.registration()
            host.describe(Place("x"))
            host.symbol_size(0x210)
            host.section_at(0x210)
    except LtocompatError:
        pass


SEEDS = {"linked": linked(), "object": object_file(), "bare": linked(headers=False)}


some_or_all = pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])


@some_or_all
@pytest.mark.parametrize("name", SEEDS)
def test_every_truncation_ends_well(name: str, step: int) -> None:
    data = SEEDS[name]
    for size in range(0, len(data), step):
        survives(data[:size])


@some_or_all
@pytest.mark.parametrize("name", SEEDS)
def test_every_changed_byte_of_the_headers_ends_well(name: str, step: int) -> None:
    data = SEEDS[name]
    for offset in range(0, 0xB0, step):
        for value in (0, 0x7F, 0xFF):
            survives(patched(data, offset, "<B", value))


@some_or_all
@pytest.mark.parametrize("name", SEEDS)
def test_seeded_mutations_end_well(name: str, step: int) -> None:
    rng = random.Random(name)  # noqa: S311 - repeatable, not secret
    for _ in range(300 // step):
        changed = bytearray(SEEDS[name])
        for _ in range(rng.randint(1, 8)):
            offset = rng.randrange(len(changed))
            changed[offset] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        survives(bytes(changed))
