"""Host ELF files, taken apart with pyelftools and guarded: it is not meant for hostile files.

pyelftools reads the file header, program headers and dynamic tags, one small structure at a time
and never more of them than the file has bytes for, and names the types of sections. Long tables are
read in bulk: section headers, of which objects with a section for each function have 50,000, and by
``elf_symbols`` and ``relocations`` what these tables say.
"""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, BinaryIO, Literal

from msgspec import Struct, field

from ltocompat.files.byteview import ByteView
from ltocompat.files.objects.structure import Section, guarded, short_text
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.limits import MIB, Budget, NamesOfTable

ELF_MAGIC = b"\x7fELF"
EM_CUDA = 190
_BITS = {b"\1": 32, b"\2": 64}
_LITTLE = {b"\1": True, b"\2": False}
_SHN_XINDEX = 0xFFFF
SHF_ALLOC, SHF_EXECINSTR = 2, 4
PF_X, PF_W = 1, 2
DF_1_PIE = 0x08000000
# More tags than any linker writes; the table has no length of its own.
_MAX_DYNAMIC_TAGS = 10_000
_SHOWN = 80  # characters of a name
_NAME_TABLE_BYTES = 64 * MIB
# sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size, sh_link, sh_info, sh_addralign,
# sh_entsize
_SECTION_HEADER = {32: "10I", 64: "IIQQQQIIQQ"}
_OFFSET, _SIZE, _LINK = 4, 5, 6
_AT_ONCE = 1024  # section headers

_MACHINES = {
    "EM_386": "x86",
    "EM_X86_64": "x86-64",
    "EM_AARCH64": "AArch64",
    "EM_ARM": "ARM",
    "EM_PPC64": "PowerPC64",
    "EM_RISCV": "RISC-V",
}


class SectionHeader(Struct, frozen=True):
    """One section header, as stored; ``kind`` is pyelftools' name of sh_type, or the number."""

    name: str
    kind: str
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int


class Segment(Struct, frozen=True):
    """One program header, as stored; ``kind`` is pyelftools' name of p_type, or the number."""

    kind: str
    flags: int
    offset: int
    file_size: int
    address: int


class ElfTables(Struct):
    """Everything that pyelftools told about one file.

    Attributes:
        bits: 32 or 64.
        little: little-endian.
        type: pyelftools' name of e_type, or the number.
        machine: pyelftools' name of e_machine, or the number.
        headers: section headers by their index (with the nameless header 0).
        segments: program headers.
        dynamic: (tag, value) in the order of the file.
        problems: what could not be read.
    """

    bits: int
    little: bool
    type: str
    machine: str
    headers: list[SectionHeader] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    dynamic: list[tuple[str, int]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _loads: list[Segment] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)

    @property
    def machine_name(self) -> str:
        """The name that people use, or pyelftools' name without its prefix, or the number."""
        return _MACHINES.get(self.machine, self.machine.removeprefix("EM_"))

    def tag(self, name: str) -> int | None:
        """The value of the first dynamic tag of that name."""
        return next((value for tag, value in self.dynamic if tag == name), None)

    def offset_of(self, address: int) -> int | None:
        """File offset of an address that is loaded from the file."""
        if not self._loads:
            loads = (segment for segment in self.segments if segment.kind == "PT_LOAD")
            self._loads = sorted(loads, key=lambda segment: segment.address)
            self._starts = [segment.address for segment in self._loads]
        position = bisect_right(self._starts, address) - 1
        if position < 0:
            return None
        segment = self._loads[position]
        inside = address - segment.address
        return segment.offset + inside if inside < segment.file_size else None


class ViewStream(io.RawIOBase):
    """A ``ByteView`` as the stream that pyelftools reads from."""

    def __init__(self, view: ByteView) -> None:
        super().__init__()
        self._view = view
        self._position = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """Offset of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move; positions behind the end read as empty."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._view.size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - a writable buffer of any type
        """Fill a buffer from the view."""
        data = self._view.peek(self._position, len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


class _Elf(Struct, frozen=True):
    """A file as pyelftools reads it: a stream, the file header, and how its tables are laid out."""

    stream: BinaryIO
    header: Any
    layouts: Any


def read_tables(view: ByteView, budget: Budget) -> ElfTables | None:
    """Read the structure of an ELF file; None for a cubin or where not even the header is whole."""
    if _is_cubin(view):
        return None
    problems: list[str] = []
    elf: _Elf | None = None
    with guarded(problems, "the ELF header"):
        elf = _open(view)
    if elf is None:
        return None
    tables = ElfTables(
        bits=elf.layouts.elfclass,
        little=elf.layouts.little_endian,
        type=str(elf.header["e_type"]),
        machine=str(elf.header["e_machine"]),
        problems=problems,
    )
    with guarded(problems, "the section header table"):
        _read_sections(elf, view, budget, tables)
    with guarded(problems, "the program header table"):
        _read_segments(elf, view, budget, tables)
    with guarded(problems, "the dynamic section"):
        _read_dynamic(elf, view, tables)
    return tables


def _is_cubin(view: ByteView) -> bool:
    """Whether e_machine says so: read by itself, since pyelftools takes longer than most cubins."""
    data = view.peek(0, 20)
    order: Literal["little", "big"] = "little" if _LITTLE.get(data[5:6], True) else "big"
    return data[:4] == ELF_MAGIC and int.from_bytes(data[18:20], order) == EM_CUDA


def _open(view: ByteView) -> _Elf | None:
    """Read the file header; None where its first bytes are not those of an ELF file."""
    ident = view.peek(0, 6)
    bits, little = _BITS.get(ident[4:5]), _LITTLE.get(ident[5:6])
    if ident[:4] != ELF_MAGIC or bits is None or little is None:
        return None
    stream = io.BufferedReader(ViewStream(view))
    header = _parsed(_header_layout(bits, little=little), stream, 0)
    kind = (header["e_type"], header["e_machine"], header["e_ident"]["EI_OSABI"])
    return _Elf(stream, header, _layouts(bits, little, *kind))


def _parsed(layout: Any, stream: BinaryIO, offset: int) -> Any:  # noqa: ANN401
    from elftools.common.utils import struct_parse

    return struct_parse(layout, stream, stream_pos=offset)


# pyelftools' ``ELFFile`` makes its layouts anew for each file, in several times the time that
# reading the file takes: a static library has thousands of files of one kind.
@lru_cache(maxsize=4)
def _header_layout(bits: int, *, little: bool) -> Any:  # noqa: ANN401
    from elftools.elf.structs import ELFStructs

    layouts = ELFStructs(little_endian=little, elfclass=bits)
    layouts.create_basic_structs()
    return layouts.Elf_Ehdr


@lru_cache(maxsize=16)
def _layouts(bits: int, little: bool, kind: str, machine: str, system: str) -> Any:  # noqa: ANN401, FBT001 - a key
    from elftools.elf.structs import ELFStructs

    layouts = ELFStructs(little_endian=little, elfclass=bits)
    layouts.create_basic_structs()
    layouts.create_advanced_structs(kind, machine, system)
    return layouts


def _fitting(view: ByteView, tables: ElfTables, start: int, size: int, count: int) -> int:
    """How many of ``count`` headers of ``size`` bytes fit into the file; says so when fewer."""
    fit = max(0, view.size - start) // size
    if count > fit:
        tables.problems.append(
            f"a header table claims {count} entries at {start:#x}, but only {fit} fit in the file"
        )
    return min(count, fit)


def _read_sections(elf: _Elf, view: ByteView, budget: Budget, tables: ElfTables) -> None:
    layout, start = elf.layouts.Elf_Shdr, elf.header["e_shoff"]
    if not start:
        return
    size = layout.sizeof()
    if elf.header["e_shentsize"] != size:
        raise Malformed(f"its entries have {elf.header['e_shentsize']} bytes instead of {size}")
    # Numbers that are too large for the file header are kept in section header 0.
    count = elf.header["e_shnum"] or _parsed(layout, elf.stream, start)["sh_size"]
    count = _fitting(view, tables, start, size, count)
    if count > budget.limits.sections:
        raise LimitExceeded("sections", f"{count} sections are over Limits.sections")
    order = "<" if elf.layouts.little_endian else ">"
    shape = struct.Struct(order + _SECTION_HEADER[elf.layouts.elfclass])
    rows = list(_rows(shape, view, start, count, budget))
    names = _section_names(elf, view, tables, rows)
    kinds = {row[1]: row for row in rows}
    named = {
        kind: str(layout.parse(shape.pack(*row))["sh_type"])
        for kind, row in budget.timed(kinds.items())
    }
    kept = budget.names()
    longest = budget.limits.text_bytes
    tables.headers = [
        SectionHeader(_name(names, row[0], longest, kept), named[row[1]], *row[2:8])
        for row in budget.timed(rows)
    ]


def _rows(
    shape: struct.Struct, view: ByteView, start: int, count: int, budget: Budget
) -> Iterator[tuple[int, ...]]:
    """The entries of a table that fits into the file."""
    for first in range(0, count, _AT_ONCE):
        budget.check_time()
        many = min(_AT_ONCE, count - first)
        yield from shape.iter_unpack(view.read(start + first * shape.size, many * shape.size))


def _section_names(
    elf: _Elf, view: ByteView, tables: ElfTables, rows: list[tuple[int, ...]]
) -> bytes:
    """The bytes of the table that holds the sections' names; empty when there is none."""
    index = elf.header["e_shstrndx"] if rows else 0
    if index == _SHN_XINDEX:
        index = rows[0][_LINK]
    if not 0 < index < len(rows):
        if rows:
            tables.problems.append("the sections have no names: their string table is missing")
        return b""
    return view.peek(rows[index][_OFFSET], min(rows[index][_SIZE], _NAME_TABLE_BYTES))


def _name(names: bytes, start: int, longest: int, kept: NamesOfTable) -> str:
    end = names.find(b"\0", start, start + longest)
    name = names[start : end if end >= 0 else start + longest]
    return kept.keep(name).decode("utf-8", "replace")


def _read_segments(elf: _Elf, view: ByteView, budget: Budget, tables: ElfTables) -> None:
    layout, start = elf.layouts.Elf_Phdr, elf.header["e_phoff"]
    if not start or not elf.header["e_phnum"]:
        return
    size = layout.sizeof()
    if elf.header["e_phentsize"] != size:
        raise Malformed(f"its entries have {elf.header['e_phentsize']} bytes instead of {size}")
    # 0xffff means that the real number is kept in section header 0.
    count = elf.header["e_phnum"]
    if count == 0xFFFF and tables.headers:
        count = tables.headers[0].info
    count = _fitting(view, tables, start, size, count)
    for index in range(count):
        if index % 1024 == 0:
            budget.check_time()
        raw = _parsed(layout, elf.stream, start + index * size)
        tables.segments.append(
            Segment(
                kind=str(raw["p_type"]),
                flags=raw["p_flags"],
                offset=raw["p_offset"],
                file_size=max(0, min(raw["p_filesz"], view.size - raw["p_offset"])),
                address=raw["p_vaddr"],
            )
        )


def _read_dynamic(elf: _Elf, view: ByteView, tables: ElfTables) -> None:
    spans = [(s.offset, s.file_size) for s in tables.segments if s.kind == "PT_DYNAMIC"]
    spans += [(h.offset, h.size) for h in tables.headers if h.kind == "SHT_DYNAMIC"]
    if not spans:
        return
    layout, (start, length) = elf.layouts.Elf_Dyn, spans[0]
    size = layout.sizeof()
    room = min(length, max(0, view.size - start)) // size
    for index in range(min(room, _MAX_DYNAMIC_TAGS)):
        raw = _parsed(layout, elf.stream, start + index * size)
        if raw["d_tag"] == "DT_NULL":
            break
        tables.dynamic.append((str(raw["d_tag"]), raw["d_val"]))


def sections_of(view: ByteView, tables: ElfTables) -> tuple[Section, ...]:
    """The sections with bytes in the file; those that reach outside are clipped and reported."""
    sections = []
    for header in tables.headers:
        if header.kind in ("SHT_NULL", "SHT_NOBITS") or not header.size:
            continue
        size = min(header.size, view.size - header.offset)
        if size < header.size:
            tables.problems.append(
                f"section {header.name[:_SHOWN]!r} of {header.size} bytes at {header.offset:#x} "
                f"reaches outside of the {view.size} bytes of the file"
            )
        if size > 0:
            executable = bool(header.flags & SHF_EXECINSTR)
            sections.append(Section(header.name, header.offset, size, header.address, executable))
    return tuple(sorted(sections, key=lambda section: (section.offset, section.size)))


def dynamic_text(view: ByteView, tables: ElfTables, budget: Budget, offset: int) -> str:
    """A string of the dynamic string table, by its offset in there; empty where there is none."""
    address = tables.tag("DT_STRTAB")
    start = None if address is None else tables.offset_of(address)
    if start is None or offset >= (tables.tag("DT_STRSZ") or 0):
        return ""
    return short_text(view, start + offset, budget.limits.text_bytes)
