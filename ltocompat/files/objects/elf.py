"""The tables of host ELF files, each bounded by what the file has bytes for.

Long tables are read in bulk: section headers, of which objects with a section for each function
have 50,000, and by ``elf_symbols`` and ``relocations`` what these tables say.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct, field

from ltocompat.files import elf_layout as layout
from ltocompat.files.byteview import ByteView
from ltocompat.files.elf_layout import ElfHeader, Tag
from ltocompat.files.objects.structure import Section, guarded, short_text
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import MIB, Budget

_BITS = {1: 32, 2: 64}
_ORDERS = {1: "<", 2: ">"}
_OS_ABI, _CUDA_ABIS = 7, (0x33, 0x41)  # of cubins; ARM has the second one, too
_IDENT_SIZE = 16
# More tags than any linker writes; the table has no length of its own.
_MAX_DYNAMIC_TAGS = 10_000
_SHOWN = 80  # characters of a name
_NAME_TABLE_BYTES = 64 * MIB
_OFFSET, _SIZE, _LINK = 4, 5, 6
_AT_ONCE = 1024  # headers

# Names that people use for e_machine, or else those of the gABI; others are shown as numbers.
_MACHINES = {
    layout.EM_386: "x86",
    layout.EM_X86_64: "x86-64",
    layout.EM_AARCH64: "AArch64",
    layout.EM_ARM: "ARM",
    layout.EM_PPC64: "PowerPC64",
    layout.EM_RISCV: "RISC-V",
    layout.EM_CUDA: "CUDA",
    0: "NONE",
    1: "M32",
    2: "SPARC",
    4: "68K",
    8: "MIPS",
    15: "PARISC",
    18: "SPARC32PLUS",
    20: "PPC",
    22: "S390",
    41: "ALPHA",
    42: "SH",
    43: "SPARCV9",
    50: "IA_64",
    83: "AVR",
    92: "OPENRISC",
    93: "ARC_COMPACT",
    94: "XTENSA",
    105: "MSP430",
    164: "QDSP6",
    189: "MICROBLAZE",
    224: "AMDGPU",
    247: "BPF",
    252: "CSKY",
    258: "LOONGARCH",
}


class SectionHeader(Struct, frozen=True):
    """One section header, as stored; ``kind`` is sh_type."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int


class Segment(Struct, frozen=True):
    """One program header; ``kind`` is p_type, ``file_size`` is clipped to the file."""

    kind: int
    flags: int
    offset: int
    file_size: int
    address: int


class ElfTables(Struct):
    """The tables of one file.

    Attributes:
        bits: 32 or 64.
        little: little-endian.
        type: e_type.
        machine: e_machine.
        headers: section headers by their index (with the nameless header 0).
        segments: program headers.
        dynamic: (tag, value) in the order of the file.
        problems: what could not be read.
    """

    bits: int
    little: bool
    type: int
    machine: int
    headers: list[SectionHeader] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    dynamic: list[tuple[int, int]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _loads: list[Segment] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)

    @property
    def machine_name(self) -> str:
        """Name of the processor."""
        return _MACHINES.get(self.machine, str(self.machine))

    def tag(self, wanted: Tag) -> int | None:
        """The value of the first such dynamic tag."""
        return next((value for tag, value in self.dynamic if tag == wanted), None)

    def start_of(self, wanted: Tag) -> int | None:
        """The file offset that an address of the dynamic section leads to."""
        address = self.tag(wanted)
        return None if address is None else self.offset_of(address)

    def offset_of(self, address: int) -> int | None:
        """File offset of an address that is loaded from the file."""
        if not self._loads:
            loads = (segment for segment in self.segments if segment.kind == layout.PT_LOAD)
            self._loads = sorted(loads, key=lambda segment: segment.address)
            self._starts = [segment.address for segment in self._loads]
        position = bisect_right(self._starts, address) - 1
        if position < 0:
            return None
        segment = self._loads[position]
        inside = address - segment.address
        return segment.offset + inside if inside < segment.file_size else None


class _Elf(Struct, frozen=True):
    """A file with its header, and how its tables are laid out."""

    view: ByteView
    bits: int
    order: str
    header: ElfHeader

    def layout(self, of_bits: dict[int, str]) -> struct.Struct:
        """The layout of one entry of a table."""
        return struct.Struct(self.order + of_bits[self.bits])


def read_tables(view: ByteView, budget: Budget) -> ElfTables | None:
    """Read the structure of an ELF file; None for a cubin or where not even the header is whole."""
    try:
        elf = _open(view)
    except Malformed:
        return None
    if elf is None or elf.header.machine == layout.EM_CUDA:
        return None
    tables = ElfTables(elf.bits, elf.order == "<", elf.header.type, elf.header.machine)
    problems = tables.problems
    with guarded(problems, "the section header table"):
        _read_sections(elf, budget, tables)
    with guarded(problems, "the program header table"):
        _read_segments(elf, budget, tables)
    with guarded(problems, "the dynamic section"):
        _read_dynamic(elf, budget, tables)
    if elf.header.ident[_OS_ABI] in _CUDA_ABIS and elf.header.machine != layout.EM_ARM:
        problems.append(f"a cubin by its OS ABI, for machine {elf.header.machine}, not 190")
    kinds = {row.kind for row in tables.headers} | {row.kind for row in tables.segments}
    if not problems and not any(kinds):
        problems.append("its header names neither sections nor segments")
    return tables


def _open(view: ByteView) -> _Elf | None:
    """Read the file header; None where its first bytes are not those of an ELF file."""
    ident = view.peek(0, _IDENT_SIZE)
    if len(ident) < _IDENT_SIZE or not ident.startswith(layout.MAGIC):
        return None
    bits, order = _BITS.get(ident[4]), _ORDERS.get(ident[5])
    if bits is None or order is None:
        return None
    fields = view.unpack(struct.Struct(order + layout.HEADER[bits]), _IDENT_SIZE)
    return _Elf(view, bits, order, ElfHeader(ident, *fields))


def _fitting(elf: _Elf, tables: ElfTables, start: int, size: int, count: int) -> int:
    """Return how many of ``count`` headers of ``size`` bytes fit into the file; report fewer."""
    fit = max(0, elf.view.size - start) // size
    if count > fit:
        tables.problems.append(
            f"a header table claims {count} entries at {start:#x}, but only {fit} fit in the file"
        )
    return min(count, fit)


def _read_sections(elf: _Elf, budget: Budget, tables: ElfTables) -> None:
    shape, start = elf.layout(layout.SECTION), elf.header.shoff
    if not start:
        return
    if elf.header.shentsize != shape.size:
        raise Malformed(f"its entries have {elf.header.shentsize} bytes instead of {shape.size}")
    # Numbers that are too large for the file header are kept in section header 0.
    count = elf.header.shnum or elf.view.unpack(shape, start)[_SIZE]
    count = _fitting(elf, tables, start, shape.size, count)
    budget.check("sections", count, "{size} sections are over Limits.sections")
    rows = list(_rows(elf, shape, start, count, budget))
    names = layout.NameTable(_section_names(elf, tables, rows), budget)
    tables.headers = [SectionHeader(names.at(row[0]), *row[1:8]) for row in budget.timed(rows)]


def _rows(
    elf: _Elf, shape: struct.Struct, start: int, count: int, budget: Budget
) -> Iterator[tuple[int, ...]]:
    """The entries of a table that fits into the file."""
    for first in range(0, count, _AT_ONCE):
        budget.check_time()
        many = min(_AT_ONCE, count - first)
        yield from shape.iter_unpack(elf.view.read(start + first * shape.size, many * shape.size))


def _section_names(elf: _Elf, tables: ElfTables, rows: list[tuple[int, ...]]) -> bytes:
    """The bytes of the table that holds the sections' names; empty when there is none."""
    index = elf.header.shstrndx if rows else 0
    if index == layout.SHN_XINDEX:
        index = rows[0][_LINK]
    if not 0 < index < len(rows):
        if rows:
            tables.problems.append("the sections have no names: their string table is missing")
        return b""
    return elf.view.peek(rows[index][_OFFSET], min(rows[index][_SIZE], _NAME_TABLE_BYTES))


def _read_segments(elf: _Elf, budget: Budget, tables: ElfTables) -> None:
    shape, start = elf.layout(layout.SEGMENT), elf.header.phoff
    if not start or not elf.header.phnum:
        return
    if elf.header.phentsize != shape.size:
        raise Malformed(f"its entries have {elf.header.phentsize} bytes instead of {shape.size}")
    # 0xffff means that the real number is kept in section header 0.
    count = elf.header.phnum
    if count == 0xFFFF and tables.headers:
        count = tables.headers[0].info
    count = _fitting(elf, tables, start, shape.size, count)
    for row in _rows(elf, shape, start, count, budget):
        # 32-bit files have p_flags last but one, 64-bit ones right behind p_type.
        kind, offset, address, _, size, _, flags, _ = (
            row if elf.bits == 32 else (row[0], *row[2:7], row[1], row[7])
        )
        file_size = max(0, min(size, elf.view.size - offset))
        # Sections are clipped and reported one by one; without them this is all that tells.
        if kind == layout.PT_LOAD and file_size < size and not tables.headers:
            tables.problems.append(
                f"the file is cut: a loaded segment of {size} bytes at {offset:#x} ends beyond it"
            )
        tables.segments.append(Segment(kind, flags, offset, file_size, address))


def _read_dynamic(elf: _Elf, budget: Budget, tables: ElfTables) -> None:
    spans = [(s.offset, s.file_size) for s in tables.segments if s.kind == layout.PT_DYNAMIC]
    spans += [(h.offset, h.size) for h in tables.headers if h.kind == layout.SHT_DYNAMIC]
    if not spans:
        return
    shape, (start, length) = elf.layout(layout.DYNAMIC), spans[0]
    room = min(length, max(0, elf.view.size - start)) // shape.size
    for tag, value in _rows(elf, shape, start, min(room, _MAX_DYNAMIC_TAGS), budget):
        if tag == Tag.NULL:
            break
        tables.dynamic.append((tag, value))


def sections_of(view: ByteView, tables: ElfTables) -> tuple[Section, ...]:
    """The sections with bytes in the file; those that reach outside are clipped and reported."""
    sections = []
    for header in tables.headers:
        if header.kind in (layout.SHT_NULL, layout.SHT_NOBITS) or not header.size:
            continue
        size = min(header.size, view.size - header.offset)
        if size < header.size:
            tables.problems.append(
                f"section {header.name[:_SHOWN]!r} of {header.size} bytes at {header.offset:#x} "
                f"reaches outside of the {view.size} bytes of the file"
            )
        if size > 0:
            executable = bool(header.flags & layout.SHF_EXECINSTR)
            sections.append(Section(header.name, header.offset, size, header.address, executable))
    return tuple(sorted(sections, key=lambda section: (section.offset, section.size)))


def dynamic_text(view: ByteView, tables: ElfTables, budget: Budget, offset: int) -> str:
    """A string of the dynamic string table, by its offset in there; empty where there is none."""
    start = tables.start_of(Tag.STRTAB)
    if start is None or offset >= (tables.tag(Tag.STRSZ) or 0):
        return ""
    return short_text(view, start + offset, budget.limits.text_bytes)
