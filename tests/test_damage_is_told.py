"""Damage of host files that takes all device code away is told, and never is "no device code"."""

from __future__ import annotations

import random
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from packages_made import wheel
from samples import FOLDER

from ltocompat import UnreadableInput, inspect
from ltocompat.model.image import Image, Module, Skipped

SAMPLE = FOLDER / "objects" / "libaxpy-no-device-link.so"
# Elf64_Ehdr and Elf64_Phdr of elf.h: where the tables' places and numbers stand.
_PHOFF, _SHOFF, _PHNUM, _SHNUM = 32, 40, 56, 60
_PT_LOAD, _PHDR, _SHDR = 1, 56, 64


def skipped(data: bytes, path: Path) -> list[str]:
    path.write_bytes(data)
    records = [*inspect(str(path))]
    return [record.reason for record in records if isinstance(record, Skipped)]


def test_a_file_without_sections_that_is_cut_in_a_loaded_segment(tmp_path: Path) -> None:
    data = bytearray(SAMPLE.read_bytes())
    (table,), (number,) = (
        struct.unpack_from("<Q", data, _PHOFF),
        struct.unpack_from("<H", data, _PHNUM),
    )
    struct.pack_into("<Q", data, _SHOFF, 0)
    struct.pack_into("<HH", data, _SHNUM, 0, 0)
    rows = [struct.unpack_from("<II6Q", data, table + _PHDR * row) for row in range(number)]
    last = max(row[2] for row in rows if row[0] == _PT_LOAD and row[5])
    assert skipped(bytes(data), tmp_path / "whole.so") == []
    for left in (last, last + 1):
        (reason,) = skipped(bytes(data[:left]), tmp_path / "cut.so")
        assert reason.startswith("the file is truncated: a loaded segment"), reason


def test_a_region_of_a_file_without_sections_whose_header_is_damaged(tmp_path: Path) -> None:
    # A wrapper points at it; a cubin inside is still found by itself.
    data = bytearray(SAMPLE.read_bytes())
    struct.pack_into("<Q", data, _SHOFF, 0)
    struct.pack_into("<HH", data, _SHNUM, 0, 0)
    region = data.index(b"\x50\xed\x55\xba\1\0\x10\0")
    assert skipped(bytes(data), tmp_path / "whole.so") == []
    data[region + 6] = 0xFF
    assert skipped(bytes(data), tmp_path / "size.so") == [
        "a fatbin wrapper points here, where no region can be read"
    ]
    data[region] = 0
    (reason,) = skipped(bytes(data), tmp_path / "magic.so")
    assert reason.endswith("fatbin wrappers point to no region")


def test_a_concatenated_entry_that_counts_fewer_images_than_it_has(tmp_path: Path) -> None:
    sample = FOLDER / "fatbin" / "nvfatbin-13.5-concat.fatbin"
    data = bytearray(sample.read_bytes())
    assert struct.unpack_from("<HHI", data, 16)[0] == 0x100
    assert skipped(bytes(data), tmp_path / "whole.fatbin") == []
    assert data[80] == 2
    data[80] = 1
    (reason,) = skipped(bytes(data), tmp_path / "fewer.fatbin")
    assert reason.endswith("bytes of the concatenated entry belong to no image")


def test_a_library_whose_rest_looks_like_an_object_of_windows(tmp_path: Path) -> None:
    data = SAMPLE.read_bytes()
    for head in (b"\0\0\xff\xff", b"\x64\x86\7\0", b"\xc4\1\0\0"):
        with pytest.raises(UnreadableInput, match="not a library or device code"):
            skipped(head + data[-1000:], tmp_path / "x.so")


def test_a_header_that_is_cut_or_names_nothing(tmp_path: Path) -> None:
    data = bytearray(SAMPLE.read_bytes())
    for left in (4, 5, 15, 40):
        assert skipped(bytes(data[:left]), tmp_path / "cut.so"), left
    data[4] = 7  # neither 32 nor 64 bits
    assert "its ELF header is truncated or damaged" in skipped(bytes(data), tmp_path / "class.so")
    empty = bytes(SAMPLE.read_bytes()[:64]) + bytes(SAMPLE.stat().st_size - 64)
    assert skipped(empty, tmp_path / "zeros.so")
    object_ = bytearray((SAMPLE.parent / "nvcc-13.0-rdc-axpy.o").read_bytes())
    struct.pack_into("<Q", object_, _SHOFF, 0)
    assert skipped(bytes(object_), tmp_path / "x.o") == [
        "its header names neither sections nor segments"
    ]


def test_a_library_of_windows_that_has_fewer_sections_than_its_image(tmp_path: Path) -> None:
    data = bytearray((SAMPLE.parent / "saxpy.dll").read_bytes())
    count = struct.unpack_from("<I", data, 0x3C)[0] + 6  # winnt.h: NumberOfSections
    assert skipped(bytes(data), tmp_path / "whole.dll") == []
    data[count] -= 1
    assert any("its sections end at" in reason for reason in skipped(bytes(data), tmp_path / "x"))
    zeros = data.index(b".text\0\0\0")
    data[zeros : zeros + 40 * data[count]] = bytes(40 * data[count])
    data[count + 74 : count + 78] = bytes(4)  # SizeOfImage
    assert any("its sections end at" in reason for reason in skipped(bytes(data), tmp_path / "x"))


@pytest.mark.parametrize("name", ["saxpy.dll", "libsaxpy.so"])
def test_a_library_that_is_cut_anywhere_in_its_headers(name: str, tmp_path: Path) -> None:
    data = (SAMPLE.parent / name).read_bytes()
    path = tmp_path / name
    for left in (*range(2, 0x180, 5), 0x40, 0x78, 0x79, 0x7C, 0x90, 0x400):
        path.write_bytes(data[:left])
        with suppress(UnreadableInput):
            records = list(inspect(str(path)))
            assert any(isinstance(record, Skipped) for record in records), left


def test_a_library_of_windows_whose_second_header_is_gone(tmp_path: Path) -> None:
    data = bytearray((SAMPLE.parent / "saxpy.dll").read_bytes())
    (at,) = struct.unpack_from("<I", data, 0x3C)
    data[at : at + 4] = bytes(4)
    for name in ("x", "x.dll"):
        assert "its PE header is truncated or damaged" in skipped(bytes(data), tmp_path / name)
    # A program for DOS: relocations elsewhere, or nothing behind (Microsoft, "PE Format").
    data[0x18:0x1A] = struct.pack("<H", 0x1E)
    assert skipped(bytes(data[:at]), tmp_path / "dos.bin") == []


NOISE = random.Random(3)  # noqa: S311 - no secret
FILLS = {"zeros": bytes, "ones": lambda size: b"\xff" * size, "noise": NOISE.randbytes}


@pytest.mark.slow
@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("name", ["libaxpy-no-device-link.so", "nvcc-13.0-rdc-axpy.o", "saxpy.dll"])
def test_a_file_that_is_overwritten_behind_its_first_header(
    name: str, fill: str, tmp_path: Path
) -> None:
    data = (SAMPLE.parent / name).read_bytes()
    images = len(found(data, tmp_path / name))
    for start in range(0xA0, len(data), len(data) // 25):
        for end in (start + len(data) // 2, len(data)):
            middle = FILLS[fill](end - start)
            damaged = data[:start] + middle + data[end:]
            if len(found(damaged[: len(data)], tmp_path / name)) < images:
                assert skipped(damaged[: len(data)], tmp_path / name), (start, end)


def found(data: bytes, path: Path) -> list[Image]:
    path.write_bytes(data)
    modules = [each for each in inspect(str(path)) if isinstance(each, Module)]
    return [image for module in modules for image in module.images if image.kind != "unknown"]


def test_an_archive_that_is_cut_between_two_members(tmp_path: Path) -> None:
    # ar(5): the index holds the offsets of members, of which the second begins at 80.
    index = b"/".ljust(48) + b"8".ljust(10) + b"`\n" + struct.pack(">2I", 1, 80 + 60)
    first = b"a.x/".ljust(48) + b"4".ljust(10) + b"`\n" + b"abcd"
    second = b"b.x/".ljust(48) + b"4".ljust(10) + b"`\n" + b"efgh"
    whole = b"!<arch>\n" + index + first + second
    assert whole.index(b"b.x/") == 80 + 60
    assert skipped(whole, tmp_path / "x.a") == []
    assert skipped(whole[: -len(second)], tmp_path / "x.a") == [
        "truncated: its index names a member at 0x8c"
    ]


def test_sections_of_windows_that_begin_between_pages(tmp_path: Path) -> None:
    data = bytearray((SAMPLE.parent / "saxpy.dll").read_bytes())
    row = data.index(b".nv_fat") + 12  # winnt.h: VirtualAddress
    data[row] ^= 0x10
    assert any("multiple of 0x1000" in reason for reason in skipped(bytes(data), tmp_path / "x"))


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"


def test_a_pointer_in_place_of_device_code(tmp_path: Path) -> None:
    # A wheel that was built from a checkout for which nobody fetched the large files.
    for name in ("k.cubin", "k.fatbin", "k.ltoir"):
        made = wheel(tmp_path, {f"p/{name}": POINTER, "p/k.txt": POINTER})
        (reason,) = [each.reason for each in inspect(str(made)) if isinstance(each, Skipped)]
        assert reason.startswith("it is not device code (it is text)")


def test_a_pointer_in_a_folder_beside_a_document_of_pretext(tmp_path: Path) -> None:
    (tmp_path / "k.cubin").write_bytes(POINTER)
    (tmp_path / "book.ptx").write_bytes(b"<?xml version='1.0'?><pretext/>")
    told = [each.place.path for each in inspect(str(tmp_path)) if isinstance(each, Skipped)]
    assert told == [str(tmp_path / "k.cubin")]
