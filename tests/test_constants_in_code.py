"""Code that writes or compares the magic of a fatbin region has it among its instructions."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from elf_writer import BASE, RELA, Part, elf, offsets, tags, wrapper
from hypothesis import given
from hypothesis import strategies as st

import ltocompat
from ltocompat import Module, Skipped

# movabs $0x100001ba55ed50, %rax: magic, version and header size of a region, as in the code of
# nvidia-cutlass-dsl-libs-cu13 4.8.1 that writes one (objdump -d).
MOVABS = bytes.fromhex("48b850ed55ba01001000")
MAGIC_AT = 2
CODE, DATA = 6, 2


def found(tmp_path: Path, data: bytes) -> list[Module | Skipped]:
    path = tmp_path / "libx.so"
    path.write_bytes(data)
    return [r for r in ltocompat.inspect(path) if isinstance(r, Module | Skipped)]


def library(code: bytes, *, flags: int = CODE) -> bytes:
    return elf([Part(".text", code, flags=flags)])


@given(st.integers(0, 7), st.binary(min_size=16, max_size=80))
def test_an_immediate_is_no_region(
    tmp_path_factory: pytest.TempPathFactory, nops: int, behind: bytes
) -> None:
    """Wherever it lies, and whatever instructions follow that make no entry."""
    folder = tmp_path_factory.getbasetemp()
    rest = struct.pack("<I", 0x00A085C7) + bytes(4) + behind.replace(b"\x50", b"\x51")
    assert found(folder, library(bytes([0x90]) * nops + MOVABS + rest)) == []


def test_a_region_that_a_wrapper_points_at_is_told_wherever_it_lies(tmp_path: Path) -> None:
    parts = [
        Part(".text", MOVABS + b"\xc7\x85\xa0\0" + bytes(60), flags=CODE),
        Part(".nvFatBinSegment", wrapper(0), flags=3),
        Part(".rela.dyn", bytes(24), RELA),
        Part(".dynamic", bytes(16 * 4), 6),
    ]
    at = offsets(parts)
    slot, region = BASE + at[".nvFatBinSegment"] + 8, BASE + at[".text"] + MAGIC_AT
    parts[2].data = struct.pack("<QQq", slot, 8, region)
    parts[3].data = tags({7: BASE + at[".rela.dyn"], 8: 24})
    records = found(tmp_path, elf(parts, dynamic=".dynamic"))
    assert any(isinstance(record, Skipped) for record in records)
