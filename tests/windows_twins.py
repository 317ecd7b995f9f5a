"""Windows twins of ELF samples: the same device code and wrappers, in a PE image written here."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

from ltocompat import PasteLine

IMAGE_BASE = 0x180000000
WRAPPER = struct.Struct("<IIQQ")
_CODE = ("__nv_module_id", "__nv_relfatbin", ".nv_fatbin")
_SEGMENT = ".nvFatBinSegment"
_RELATIVE = 8  # R_X86_64_RELATIVE
_PAGE = 0x1000


def lines_of_both(lines: Sequence[PasteLine]) -> list[PasteLine]:
    """The lines of a requirement that a DLL and an ELF file share: no container runs DLLs."""
    return [line for line in lines if line.where != "container"]


_DRIVER = re.compile(r"DriverVersion\(numbers=(\([\d, ]+\)), text=(?:None|'[^']*')\)")
_TOLD = re.compile(r"(driver|from|to) R?([4-9]\d\d)[.\d]*")


def without_names_of_drivers(value: object) -> str:
    """Return a value as text, with the branches of drivers in notes and no other names of them."""
    return _TOLD.sub(r"\1 R\2", _DRIVER.sub(r"\1", repr(value)))


def pe_twin(elf: Path) -> bytes:
    """The sections with device code of a linked ELF file, as a linker for Windows keeps them."""
    with elf.open("rb") as file:
        reader = ELFFile(file)
        found = {s.name: s for s in reader.iter_sections() if s.name in (*_CODE, _SEGMENT)}
        sections = {name: section.data() for name, section in found.items()}
        starts = {name: section["sh_addr"] for name, section in found.items()}
        pointers = _relocated(reader)
    addresses = _addresses(sections)
    wrappers = b""
    for at, row in enumerate(WRAPPER.iter_unpack(sections[_SEGMENT])):
        magic, version, region, array = row
        place = starts[_SEGMENT] + at * WRAPPER.size
        region = pointers.get(place + 8, region)
        (home,) = (n for n in _CODE if n in sections and 0 <= region - starts[n] < len(sections[n]))
        moved = addresses[home] + region - starts[home]
        # The array of prelinked regions is empty until the program runs: any address will do.
        array = pointers.get(place + 16, array) and addresses[_SEGMENT]
        wrappers += WRAPPER.pack(magic, version, moved, array)
    return pe_image({**sections, _SEGMENT: wrappers})


def _relocated(reader: ELFFile) -> dict[int, int]:
    """Address of each pointer that the loader of a position-independent file sets -> its value."""
    section = reader.get_section_by_name(".rela.dyn")
    if not isinstance(section, RelocationSection):
        return {}
    rows = [row.entry for row in section.iter_relocations()]
    return {row["r_offset"]: row["r_addend"] for row in rows if row["r_info_type"] == _RELATIVE}


def pe_image(sections: Mapping[str, bytes]) -> bytes:
    """A DLL with these sections, whose names are cut to 8 characters as PE does."""
    # winnt.h: SectionAlignment, and SizeOfImage, which the sections fill.
    size = _PAGE + sum(len(data) + -len(data) % _PAGE for data in sections.values())
    optional = struct.pack("<H22xQI20xI", 0x20B, IMAGE_BASE, _PAGE, size)
    optional = optional.ljust(108, b"\0") + struct.pack("<I", 0)
    head = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40) + b"PE\0\0"
    head += struct.pack("<HHIIIHH", 0x8664, len(sections), 0, 0, 0, len(optional), 0x2022)
    rows, body = b"", b""
    addresses = _addresses(sections)
    for name, data in sections.items():
        rva = addresses[name] - IMAGE_BASE
        place = _PAGE + len(body)
        rows += struct.pack(
            "<8sIIIIIIHHI",
            name.encode()[:8],
            len(data),
            rva,
            len(data),
            place,
            0,
            0,
            0,
            0,
            0x40000040,
        )
        body += data + bytes(-len(data) % 16)
    return (head + optional + rows).ljust(_PAGE, b"\0") + body


def _addresses(sections: Mapping[str, bytes]) -> dict[str, int]:
    """Where each section is loaded: on pages of its own, one behind the other."""
    found, address = {}, IMAGE_BASE + _PAGE
    for name, data in sections.items():
        found[name] = address
        address += len(data) + -len(data) % _PAGE
    return found
