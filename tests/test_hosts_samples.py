"""The bundled host files; what is expected was read from them by readelf and objdump 2.40."""

from __future__ import annotations

import io
import re
import shutil
import subprocess

import pytest
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.enums import (
    ENUM_D_TAG,
    ENUM_P_TYPE_BASE,
    ENUM_SH_TYPE_AMD64,
    ENUM_SH_TYPE_BASE,
)
from elftools.elf.sections import SymbolTableSection
from every_case import every
from samples import FOLDER

from ltocompat.files.byteview import ByteView
from ltocompat.files.elf_layout import MAGIC
from ltocompat.files.objects import read_host
from ltocompat.files.objects.elf import read_tables
from ltocompat.files.objects.host_file import ObjectFile
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location

OBJECTS = FOLDER / "objects"
SECTION_ROW = re.compile(
    r"^\s*\[ *\d+\] (\S+) +(\S+) +([0-9a-f]{16}) ([0-9a-f]{6,}) ([0-9a-f]{6,})", re.MULTILINE
)


def read(name: str) -> ObjectFile:
    host = read_host(ByteView.of((OBJECTS / name).read_bytes()), Budget())
    assert host is not None
    return host


def test_a_fixed_executable_has_its_pointers_in_place() -> None:
    # objdump -s -j .nvFatBinSegment: 0x400e90, 0x4012e8 (version 1), 0x401600 (version 2).
    registration = read("nvcc-13.5-rdc-sass-no-pie").registration()
    assert registration.prelinked == {0x1600: (0xE90, 0x12E8)}
    assert all(registration.registered(region) for region in (0xE90, 0x12E8, 0x1600))


def test_both_wrappers_of_a_tile_object_are_followed() -> None:
    # readelf -r: .nv_fatbin + 0 from .nvFatBinSegment, + 0x9d8 from .nvFatBinSegmentAlt.
    host = read("nvcc-13.5-tile.o")
    start = next(section.offset for section in host.sections if section.name == ".nv_fatbin")
    assert host.registration().registered(start) is True
    assert host.registration().registered(start + 0x9D8) is True


@pytest.mark.parametrize("name", ["libsaxpy.so", "nvcc-13.5-rdc-sass+ptx"])
def test_exports_are_the_symbols_that_pyelftools_says_others_may_bind_to(name: str) -> None:
    with (OBJECTS / name).open("rb") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        assert isinstance(table, SymbolTableSection)
        symbols = [symbol for symbol in table.iter_symbols() if symbol.name]
    exported = [
        symbol.name
        for symbol in symbols
        if symbol["st_shndx"] != "SHN_UNDEF"
        and symbol["st_info"]["bind"] != "STB_LOCAL"
        and symbol["st_other"]["visibility"] in ("STV_DEFAULT", "STV_PROTECTED")
    ]
    assert len(exported) < len(symbols)
    host = read(name).describe(Location(name), exports=True)
    assert sorted(host.exports) == sorted(exported)


def test_an_arm_object_is_followed() -> None:
    # readelf -r: R_AARCH64_ABS64 .nv_fatbin + 0.
    host = read("aarch64.o")
    start = next(section.offset for section in host.sections if section.name == ".nv_fatbin")
    assert host.machine == "AArch64"
    assert host.registration().registered(start) is True


def test_windows_files_are_followed() -> None:
    # objdump -s: the wrapper of the DLL holds 0x180006000, which lies at 0xe00 in the file.
    assert read("saxpy.dll").registration().registered(0xE00) is True
    # objdump -r: .nvFatBinSegment refers to .nv_fatbin, at 0x1b1 in the file.
    assert read("saxpy.obj").registration().registered(0x1B1) is True


def test_a_library_that_skipped_its_device_link_leaves_registrations_open() -> None:
    described = read("libaxpy-no-device-link.so").describe(Location("x"))
    # nm -D -u
    assert described.undefined_registrations == (
        "__cudaRegisterLinkedBinary_0571d20b_7_axpy_cu_axpy",
        "__cudaRegisterLinkedBinary_76b881b2_8_scale_cu_587774ad",
    )


def test_a_device_link_leaves_the_wrappers_of_its_objects_open() -> None:
    described = read("nvcc-13.5-dlink.o").describe(Location("x"))
    assert described.undefined_registrations == (
        "__fatbinwrap_0571d20b_7_axpy_cu_axpy",
        "__fatbinwrap_76b881b2_8_scale_cu_587774ad",
    )


def test_registration_survives_the_loss_of_section_headers() -> None:
    # The same library with and without; readelf -S: .nv_fatbin is where the one region starts.
    whole, bare = read("libsaxpy.so"), read("libsaxpy-no-section-headers.so")
    start = next(section.offset for section in whole.sections if section.name == ".nv_fatbin")
    assert bare.sections == ()
    assert whole.registration().registered(start) is True
    assert bare.registration().registered(start) is True


@pytest.mark.skipif(not shutil.which("readelf"), reason="needs binutils")
@pytest.mark.parametrize(
    "name", ["libsaxpy.so", "nvcc-13.5-rdc-sass", "nvcc-13.5-tile.o", "aarch64.o", "naked.o"]
)
def test_sections_are_those_that_readelf_lists(name: str) -> None:
    text = subprocess.run(
        ["readelf", "-SW", OBJECTS / name],  # noqa: S607 - the system's own
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    expected = {
        (section, int(offset, 16), int(size, 16), int(address, 16))
        for section, kind, address, offset, size in SECTION_ROW.findall(text)
        if kind not in {"NULL", "NOBITS"} and int(size, 16)
    }
    assert {(s.name, s.offset, s.size, s.address) for s in read(name).sections} == expected


@every("name", sorted(path.name for path in OBJECTS.iterdir()))
def test_tables_of_elf_are_those_that_pyelftools_reads(name: str) -> None:
    data = (OBJECTS / name).read_bytes()
    tables = read_tables(ByteView.of(data), Budget()) if data.startswith(MAGIC) else None
    if tables is None:
        assert not data.startswith(MAGIC)
        return
    peer = ELFFile(io.BytesIO(data))
    numbers = {**ENUM_SH_TYPE_BASE, **ENUM_SH_TYPE_AMD64, **ENUM_P_TYPE_BASE}
    sections = list(peer.iter_sections())
    fields = ("flags", "addr", "offset", "size", "link", "info")
    assert [
        (row.name, row.kind, row.flags, row.address, row.offset, row.size, row.link, row.info)
        for row in tables.headers
    ] == [
        (section.name, numbers[section["sh_type"]], *(section[f"sh_{name}"] for name in fields))
        for section in sections
    ]
    segments = list(peer.iter_segments())
    assert [
        (row.kind, row.flags, row.offset, row.file_size, row.address) for row in tables.segments
    ] == [
        (numbers[s["p_type"]], *(s[f"p_{name}"] for name in ("flags", "offset", "filesz", "vaddr")))
        for s in segments
    ]
    dynamic = [segment for segment in segments if isinstance(segment, DynamicSegment)]
    tags = [tag.entry for segment in dynamic for tag in segment.iter_tags()]
    assert tables.dynamic == [
        (ENUM_D_TAG[tag.d_tag], tag.d_val) for tag in tags if tag.d_tag != "DT_NULL"
    ]
