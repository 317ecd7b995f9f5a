"""ELF hosts: small files written here byte by byte, and broken in every way."""

from __future__ import annotations

import random
import struct

import pytest
from elf_writer import (
    AARCH64,
    BASE,
    CUDA,
    DT_RELA,
    DT_RELASZ,
    ET_DYN,
    ET_EXEC,
    REGION,
    RELA,
    X86_64,
    Part,
    addends_in_place,
    elf,
    linked,
    object_file,
    offsets,
    tags,
    two_device_links,
    wrapper,
)

from ltocompat.files.byteview import ByteView
from ltocompat.files.objects import read_host
from ltocompat.files.objects.host_file import ObjectFile
from ltocompat.model.errors import LimitExceeded, LtocompatError
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.location import Location


def read(data: bytes, budget: Budget | None = None) -> ObjectFile:
    host = read_host(ByteView.of(data), budget or Budget())
    assert host is not None
    return host


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
    assert read(addends_in_place(packed=packed)).registration().registered(0x200) is True


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


def test_objects_are_resolved_through_their_symbol_table() -> None:
    host = read(object_file(addend=16))
    assert host.type == "object"
    assert host.registration().registered(0x210) is True
    assert host.registration().registered(0x200) is False


def test_open_names_are_listed_and_defined_ones_are_not() -> None:
    described = read(object_file()).describe(Location("x.o"))
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
    registration = read(two_device_links(order)).registration()
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


def test_relocations_outside_of_the_file_are_said() -> None:
    data = linked()
    size = data.index(struct.pack("<QQ", DT_RELASZ, 24))
    host = read(patched(data, size - 8, "<Q", 1 << 50))  # the address of DT_RELA
    host.registration()
    first, second = host.problems
    assert first == "the relocations of DT_RELA are outside of the file"
    assert second.endswith("fatbin wrappers point to no region")


def test_too_many_sections_are_a_limit() -> None:
    with pytest.raises(LimitExceeded):
        read(linked(), Budget(Limits(sections=2)))


def survives(data: bytes) -> None:
    """Everything that can be asked ends in an answer or in one of our errors."""
    try:
        host = read_host(ByteView.of(data), Budget(Limits(seconds=20)))
        if host is not None:
            host.registration()
            host.describe(Location("x"))
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
