"""ELF hosts: small files written here byte by byte, and broken in every way."""

from __future__ import annotations

import random
import struct
import zipfile
from pathlib import Path

import pytest
from elf_writer import (
    CUDA,
    DT_RELASZ,
    ET_DYN,
    ET_REL,
    REGION,
    RELA,
    STRTAB,
    SYMTAB,
    X86_64,
    Part,
    addends_in_place,
    elf,
    linked,
    object_file,
    symbol,
    two_device_links,
    with_wrappers,
    wrapper,
)
from hypothesis import given
from hypothesis import strategies as st
from samples import FOLDER

from ltocompat import inspect
from ltocompat.files.byteview import ByteView
from ltocompat.files.objects import libraries, read_host
from ltocompat.files.objects.elf import read_tables
from ltocompat.files.objects.elf_symbols import symbol_tables
from ltocompat.files.objects.host_file import ObjectFile
from ltocompat.files.objects.libraries import is_plain_object
from ltocompat.model.errors import LimitExceeded, LtocompatError
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.location import Location


def read(data: bytes, budget: Budget | None = None) -> ObjectFile:
    host = read_host(ByteView.of(data), budget or Budget())
    assert host is not None
    return host


@pytest.mark.parametrize("packed", [True, False], ids=["RELR", "REL"])
def test_addends_in_place_are_read(*, packed: bool) -> None:
    assert read(addends_in_place(packed=packed)).registration().registered(0x200) is True


@pytest.mark.parametrize("strings", [b"", b"\0", b"\0text\0"])
def test_symbols_that_a_relocation_counts_in_need_no_names(strings: bytes) -> None:
    """An empty table of strings is allowed (gABI, "String Table"), as is one of symbols."""
    rows = symbol(0, 0, 0, 0) + symbol(0, 3, 1, 0)
    parts = [
        Part("__nv_relfatbin", REGION * 2),
        Part(".nvFatBinSegment", wrapper(0), flags=3),
        Part(".rela.nvFatBinSegment", struct.pack("<QQq", 8, 1 << 32 | 1, 16), RELA, 0, 5, 2),
        Part(".empty", b"", SYMTAB, 0, 6),
        Part(".symtab", rows, SYMTAB, 0, 6),
        Part(".strtab", strings, STRTAB, 0),
        Part(".rodata", b"these aren't strings"),
    ]
    data = elf(parts, ET_REL)
    assert read(data).registration().registered(0x210) is True
    tables = read_tables(ByteView.of(data), Budget())
    assert tables is not None
    (table,) = symbol_tables(tables)
    assert [table.name_of(place) for place in (0, 6, 7)] == ["", "", ""]


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


@pytest.mark.parametrize("order", [b"_a\0def _a\0\0_a\0def _a\0", b"_a\0def _a\0\0def _b\0"])
def test_module_ids_that_name_no_region_or_two_lead_to_none(order: bytes) -> None:
    assert read(two_device_links(order)).registration().prelinked == {}


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


@given(st.data())
def test_a_null_wrapper_hides_nothing_if_each_region_has_a_wrapper(data: st.DataObject) -> None:
    """libtorch_cuda.so of torch 1.12.1 has 225 null wrappers, and 593 regions with one each."""
    regions = data.draw(st.integers(1, 4))
    target = st.none() | st.integers(0, regions - 1)
    targets = [0, *data.draw(st.lists(target, max_size=8))]
    host = read(with_wrappers(regions, targets))
    host.registration()
    nulls = targets.count(None)
    told = nulls and len(set(targets) - {None}) < regions
    text = f"{nulls} of {len(targets)} fatbin wrappers point to no region"
    assert list(host.problems) == ([text] if told else [])


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


def plain_object(data: bytes, machine: int = X86_64, kind: int = ET_REL) -> bytes:
    return elf([Part(".rodata", data)], kind, machine)


NAMES = (
    *(".nv_fatbin", "__nv_relfatbin", ".nvFatBinSegment", "__cudaRegisterLinkedBinary_x"),
    *("__fatbinwrap_x", "nvJitLinkCreate", "__nvJitLinkCreate_12_4", "libcudart.so.12"),
    *("libnvrtc.so.12", "libnppc.so.12", "libnccl.so.2", "libmathdx.so", "/cudart.shm.%x"),
    *("NVJITLINK_TRACE_MESSAGES", "nvrtc: error: failed to load builtins", ".version 8.0"),
)
MAGICS = ("50ed55ba", "ed434e7f", "28b52ffd", "7f454c46020101")


def test_an_object_of_a_static_library_is_passed_over_only_if_nothing_in_it_counts() -> None:
    plain = plain_object(b"text\0" * 40)
    told = [*map(str.encode, NAMES), *map(bytes.fromhex, MAGICS)]
    others = [plain_object(b"\0text\0" + part + b"\0") for part in told]
    others += [plain_object(b"", CUDA), plain_object(b"", kind=ET_DYN)]
    others += [plain[:7] + b"\x33" + plain[8:]]  # the OS ABI of a cubin
    others += [plain[:-1], plain[:63], plain_object(bytes(1 << 20))]
    assert is_plain_object(ByteView.of(plain))
    assert not any(is_plain_object(ByteView.of(data)) for data in others)


@given(
    st.lists(st.tuples(st.integers(0, 600), st.integers(1, 300), st.sampled_from([0, 0, 255, 46])))
)
def test_no_damage_is_passed_over_that_readers_tell(steps: list[tuple[int, int, int]]) -> None:
    """Law 12: an object tells in an archive what it tells alone."""
    data = bytearray(plain_object(b"text\0" * 4))
    for at, size, byte in steps:
        for number in range(min(at, len(data)), min(at + size, len(data))):
            data[-1 - number] = byte  # the table of sections is at the end
    view = ByteView.of(bytes(data))
    if is_plain_object(view):
        tables = read_tables(view, Budget())
        assert tables is not None
        assert tables.problems == []


def test_what_is_passed_over_is_what_readers_say_nothing_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "objects.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("plain.o", plain_object(b"text\0" * 40))
        for file in sorted((FOLDER / "objects").iterdir()):
            archive.write(file, file.name)
    records = [list(map(repr, inspect(path, jobs=1)))]
    monkeypatch.setattr(libraries, "is_plain_object", lambda _: False)
    records.append(list(map(repr, inspect(path, jobs=1))))
    assert records[0] == records[1]
