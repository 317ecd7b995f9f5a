"""PE images and COFF objects: small files written here byte by byte, and broken."""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltocompat.files.byteview import ByteView
from ltocompat.files.objects import read_host
from ltocompat.files.objects.coff import CoffSection, long_name
from ltocompat.files.objects.host_file import ObjectFile
from ltocompat.model.errors import LtocompatError
from ltocompat.model.image import CudaLibrary
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location

REGION = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 0)
IMAGE_BASE = 0x180000000
DATA = 0x40000040


def wrapper(pointer: int) -> bytes:
    return struct.pack("<IIQQ", 0x466243B1, 1, pointer, 0)


def row(name: bytes, rva: int, size: int, offset: int, relocations: int = 0) -> bytes:
    return struct.pack(
        "<8sIIIIIIHHI", name, 0, rva, size, offset, relocations, 0, int(relocations > 0), 0, DATA
    )


def read(data: bytes) -> ObjectFile:
    host = read_host(ByteView.of(data), Budget())
    assert host is not None
    return host


def imports(rva: int) -> bytes:
    """An import table of nvJitLink with one function by name and one by number, and of cudart."""
    text = rva + 0x80
    rows = struct.pack("<IIIII", rva + 0x60, 0, 0, text, 0)
    rows += struct.pack("<IIIII", 0, 0, 0, text + 0x20, rva + 0x78)
    functions = struct.pack("<QQQ", text + 0x40, 1 << 63 | 7, 0)
    data = rows.ljust(0x60, b"\0") + functions
    data = data.ljust(0x80, b"\0") + b"nvJitLink_120_0.dll".ljust(0x20, b"\0")
    data += b"cudart64_12.dll".ljust(0x20, b"\0") + b"\1\0__nvJitLinkCreate_12_4\0"
    return data + "\0nvcuda.dll\0".encode("utf-16-le") + b"\0nvrtc64_120_0.dll\0"


def image() -> bytes:
    """A DLL: .nv_fatb at 0x400 (RVA 0x1000), .nvFatBi at 0x600, .rdata at 0x800."""
    directories = struct.pack("<IIII", 0, 0, 0x3000, 40).ljust(16 * 8, b"\0")
    optional = struct.pack("<H", 0x20B).ljust(24, b"\0") + struct.pack("<Q", IMAGE_BASE)
    optional = optional.ljust(108, b"\0") + struct.pack("<I", 16) + directories
    head = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x80)
    head = head.ljust(0x80, b"\0") + b"PE\0\0"
    head += struct.pack("<HHIIIHH", 0x8664, 3, 0, 0, 0, len(optional), 0x2022)
    data = imports(0x3000)
    rows = row(b".nv_fatb", 0x1000, 0x200, 0x400) + row(b".nvFatBi", 0x2000, 0x200, 0x600)
    rows += row(b".rdata", 0x3000, len(data), 0x800)
    file = (head + optional + rows).ljust(0x400, b"\0") + (REGION * 2).ljust(0x200, b"\0")
    return file + wrapper(IMAGE_BASE + 0x1010).ljust(0x200, b"\0") + data


def coff() -> bytes:
    """An object: .nv_fatbin, .nvFatBinSegment with one relocation, long names, open symbols."""
    strings = (
        b"\0.nv_fatbin\0.nvFatBinSegment\0__cudaRegisterLinkedBinary_x\0__nvJitLinkCreate_12_4\0"
    )

    def at(name: bytes) -> int:
        return strings.index(name) + 4

    def long(name: bytes) -> bytes:
        return b"\0\0\0\0" + struct.pack("<I", at(b"\0" + name) + 1)

    symbols = struct.pack("<8sIhHBB", b".nv_fatb", 0, 1, 0, 3, 1) + bytes(18)
    symbols += struct.pack("<8sIhHBB", long(b"__cudaR"), 0, 0, 0, 2, 0)
    symbols += struct.pack("<8sIhHBB", long(b"__nvJit"), 0, 0, 0, 2, 0)
    base = 20 + 2 * 40
    rows = row(b"/%d" % (at(b"\0.nv_fat") + 1), 0, 32, base)
    rows += row(b"/%d" % (at(b"\0.nvFat") + 1), 0, 24, base + 32, base + 56)
    # The addend 16 is in place; type 1 is IMAGE_REL_AMD64_ADDR64; the symbol is the section's.
    body = REGION * 2 + wrapper(16) + struct.pack("<IIH", 8, 0, 1)
    head = struct.pack("<HHIIIHH", 0x8664, 2, 0, base + len(body), 4, 0, 0)
    return head + rows + body + symbols + struct.pack("<I", len(strings) + 4) + strings


def test_the_wrapper_of_an_image_points_by_its_image_base() -> None:
    host = read(image())
    assert (host.format, host.machine, host.type) == ("PE", "x86-64", "shared library")
    assert host.registration().registered(0x410) is True
    assert host.registration().registered(0x400) is False
    section = host.section_at(0x410)
    assert section is not None
    assert section.fatbin
    assert section.address == IMAGE_BASE + 0x1000


def test_imports_and_strings_of_an_image_name_its_libraries() -> None:
    described = read(image()).describe(Location("x.dll"))
    assert described.nvjitlink_imports == ("__nvJitLinkCreate_12_4",)
    found = [(library.name, library.how, library.file) for library in described.libraries]
    assert found == [
        ("libnvJitLink", "needed", "nvJitLink_120_0.dll"),
        ("libcudart", "needed", "cudart64_12.dll"),
        ("libcuda", "opened", "nvcuda.dll"),
        ("libnvrtc", "opened", "nvrtc64_120_0.dll"),
    ]
    assert isinstance(described.libraries[0], CudaLibrary)


@pytest.mark.parametrize(("less", "rows"), [(0, 3), (1, 2), (40, 2), (41, 1)])
def test_rows_of_a_section_table_that_an_image_breaks_off_are_told(less: int, rows: int) -> None:
    data = image()
    end = data.index(b".rdata\0\0") + 40
    problems = read(data[: end - less]).problems
    told = f"the section table claims 3 rows, but only {rows} fit in the file"
    assert [each for each in problems if "section table" in each] == [told] * (rows < 3)


def test_an_object_may_end_with_its_section_table() -> None:
    empty = struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 0, 0) + row(b".text", 0, 0, 0)
    assert read(empty).describe(Location("x.obj")).machine == "x86-64"
    assert not read(empty).problems
    assert read_host(ByteView.of(empty[:-1]), Budget()) is None


def test_section_names_far_back_in_the_string_table_are_read() -> None:
    # "//" and six digits of base 64, by LLVM's encodeBase64StringEntry: 10,000,000 is //AAmJaA.
    strings = b"\0" * 10_000_000 + b".nv_fatbin\0"
    assert long_name(ByteView.of(strings), b"//AAmJaA", 0, 100) == ".nv_fatbin"
    assert long_name(ByteView.of(strings), b"/9999999", 1, 100) == ".nv_fatbin"
    assert long_name(ByteView.of(strings), b"//short", 0, 100) == "//short"


def test_open_names_of_an_object_are_listed() -> None:
    described = read(coff()).describe(Location("x.obj"))
    assert described.undefined_registrations == ("__cudaRegisterLinkedBinary_x",)
    assert described.nvjitlink_imports == ("__nvJitLinkCreate_12_4",)


def survives(data: bytes) -> None:
    try:
        host = read_host(ByteView.of(data), Budget())
        if host is not None:
            host.registration()
            host.describe(Location("x"))
            host.symbol_size(0x410)
    except LtocompatError:
        pass


@given(
    st.sampled_from([".rdata", ".data", ".nv_fatb", ".nvFatBi"]),
    st.booleans(),
    st.booleans(),
)
def test_strings_are_searched_in_data_that_no_processor_runs_and_no_gpu(
    name: str, data: bool, runs: bool
) -> None:
    """IMAGE_SCN_CNT_INITIALIZED_DATA and IMAGE_SCN_MEM_EXECUTE, as in Microsoft's PE format."""
    traits = 0x00000040 * data | 0x20000000 * runs | 0x40000000
    section = CoffSection(name, 0, 0, 16, 0, 0, traits)
    assert section.plain_data is (data and not runs and not name.startswith(".nv"))


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("data", [image(), coff()], ids=["image", "object"])
def test_every_truncation_and_seeded_mutations_end_well(data: bytes, step: int) -> None:
    for size in range(0, len(data), step):
        survives(data[:size])
    rng = random.Random(7)  # noqa: S311 - repeatable, not secret
    for _ in range(500 // step):
        changed = bytearray(data)
        for _ in range(rng.randint(1, 6)):
            changed[rng.randrange(len(changed))] = rng.choice((0, 0x7F, 0xFF, rng.randrange(256)))
        survives(bytes(changed))
