"""The tables of host ELF files, each bounded by what the file has bytes for.

Long tables are read in bulk: section headers, of which objects with a section for each function
have 50,000, and by ``elf_symbols`` and ``relocations`` what these tables say.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from itertools import takewhile
from operator import itemgetter

from msgspec import Struct, field

from ltocompat.files import elf_layout as layout
from ltocompat.files.byteview import ByteView
from ltocompat.files.elf_layout import ElfHeader, SectionHeader, Tag
from ltocompat.files.objects.structure import Section, clipped, guarded, in_file_order, short_text
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import MIB, Budget

_BITS = {1: 32, 2: 64}
_ORDERS = {1: "<", 2: ">"}
_IDENT_SIZE = 16
# More tags than any linker writes; the table has no length of its own.
_MAX_DYNAMIC_TAGS = 10_000
_LAST_TAG = 0x7FFFFFFF  # DT_HIPROC (gABI, "Dynamic Section")
_NAME_TABLE_BYTES = 64 * MIB
_KIND, _OFFSET, _SIZE, _LINK = 1, 4, 5, 6
_AT_ONCE = 1024  # headers

# Names that people use for e_machine of hosts that CUDA has or had; others are shown as numbers.
_MACHINES = {
    layout.EM_386: "x86",
    layout.EM_X86_64: "x86-64",
    layout.EM_AARCH64: "AArch64",
    layout.EM_ARM: "ARM",
    layout.EM_PPC64: "PowerPC64",
    layout.EM_RISCV: "RISC-V",
}


def _is_text(name: str) -> bool:
    return bool(name) and name.isprintable() and "\ufffd" not in name


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
        view: the file.
        budget: bounds for reading it.
        bits: 32 or 64.
        order: ``<`` for little-endian, as in ``struct``.
        header: its first header.
        headers: section headers by their index (with the nameless header 0).
        segments: program headers.
        dynamic: (tag, value) in the order of the file.
        problems: unreadable parts.
    """

    view: ByteView
    budget: Budget
    bits: int
    order: str
    header: ElfHeader
    headers: list[SectionHeader] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    dynamic: list[tuple[int, int]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _loads: list[Segment] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)

    @property
    def machine_name(self) -> str:
        """Name of the processor."""
        return _MACHINES.get(self.header.machine, str(self.header.machine))

    def tag(self, wanted: Tag) -> int | None:
        """Return the value of the first such dynamic tag."""
        return next((value for tag, value in self.dynamic if tag == wanted), None)

    def start_of(self, wanted: Tag) -> int | None:
        """Return the file offset of an address in the dynamic section."""
        address = self.tag(wanted)
        return None if address is None else self.offset_of(address)

    def texts(self, wanted: Tag) -> Iterator[str]:
        """Yield the strings of such dynamic tags; empty if they are in no string table."""
        offsets = [value for tag, value in self.dynamic if tag == wanted]
        return map(self._text, self.budget.timed(offsets, slow=True))

    def _text(self, offset: int) -> str:
        start, size = self.start_of(Tag.STRTAB), self.tag(Tag.STRSZ) or 0
        there = start is not None and offset < size
        at = (start or 0) + offset
        return short_text(self.view, at, self.budget.limits.text_bytes) if there else ""

    def files_with_versions(self) -> Iterator[str]:
        """Yield the files in which the loader looks for versions of symbols (DT_VERNEED)."""
        at, shape = self.start_of(Tag.VERNEED) or 0, struct.Struct(f"{self.order}4xI4xI")
        count = min(self.tag(Tag.VERNEEDNUM) or 0, _MAX_DYNAMIC_TAGS) if at else 0
        for _ in self.budget.timed(range(count), slow=True):
            if len(row := self.view.peek(at, shape.size)) == shape.size:
                name, step = shape.unpack(row)
                yield self._text(name)
                at += step

    def offset_of(self, address: int) -> int | None:
        """Return the file offset of an address that is loaded from the file."""
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

    def loaded(self, flags: int, wanted: int) -> list[tuple[int, int]]:
        """Return (offset, size) of loaded segments with the wanted flags."""
        return [
            (s.offset, s.file_size)
            for s in self.segments
            if s.kind == layout.PT_LOAD and s.flags & flags == wanted and s.file_size
        ]

    def sections(self) -> tuple[Section, ...]:
        """Return sections with bytes in the file; report and clip those that reach outside."""
        sections = []
        for header in self.headers:
            if header.kind in (layout.SHT_NULL, layout.SHT_NOBITS) or not header.size:
                continue
            size = clipped(self.view, header.name, header.offset, header.size, self.problems)
            if size:
                executable = bool(header.flags & layout.SHF_EXECINSTR)
                section = Section(header.name, header.offset, size, header.address, executable)
                sections.append(section)
        return in_file_order(sections)

    def _shape(self, of_bits: dict[int, str], said: int | None = None) -> struct.Struct:
        """The layout of one entry of a table, whose size the header may say."""
        shape = struct.Struct(self.order + of_bits[self.bits])
        if said not in (None, shape.size):
            raise Malformed(f"its entries have {said} bytes instead of {shape.size}")
        return shape

    def _fitting(self, start: int, size: int, count: int) -> int:
        """Return how many of ``count`` headers of ``size`` bytes fit into the file; say of more."""
        fit = max(0, self.view.size - start) // size
        if count > fit:
            self.problems.append(
                f"a header table claims {count} entries at {start:#x}, but only {fit} fit in the "
                "file"
            )
        return min(count, fit)

    def _rows(self, shape: struct.Struct, start: int, count: int) -> Iterator[tuple[int, ...]]:
        """The entries of a table that fits into the file."""
        for first in range(0, count, _AT_ONCE):
            self.budget.check_time()
            size = min(_AT_ONCE, count - first) * shape.size
            yield from shape.iter_unpack(self.view.read(start + first * shape.size, size))

    def read_sections(self) -> None:
        """Read the section headers."""
        start = self.header.shoff
        if not start:
            return
        shape = self._shape(layout.SECTION, self.header.shentsize)
        # Numbers that are too large for the file header are kept in section header 0.
        count = self.header.shnum or self.view.unpack(shape, start)[_SIZE]
        count = self._fitting(start, shape.size, count)
        if not count:
            self.problems.append(f"its sections are at {start:#x}, but there are none")
        self.budget.check("sections", count, "{size} sections are over Limits.sections")
        rows = list(self._rows(shape, start, count))
        names = layout.NameTable(self._section_names(rows), self.budget)
        timed = self.budget.timed(rows)
        self.headers = [SectionHeader(names.at(row[0]), *row[1:8]) for row in timed]
        # Beside header 0 none is empty, and names are text, in all that linkers and strip write.
        broken = sum(
            header.kind == layout.SHT_NULL or not _is_text(header.name)
            for header in self.headers[1:]
        )
        if broken:
            self.problems.append(f"{broken} of its {count} section headers are empty or nameless")

    def _section_names(self, rows: list[tuple[int, ...]]) -> bytes:
        """The bytes of the table that holds the sections' names; empty when there is none."""
        index = self.header.shstrndx if rows else 0
        if index == layout.SHN_XINDEX:
            index = rows[0][_LINK]
        if not 0 < index < len(rows) or rows[index][_KIND] != layout.SHT_STRTAB:
            if rows:
                self.problems.append("the sections have no names: their string table is missing")
            return b""
        return self.view.peek(rows[index][_OFFSET], min(rows[index][_SIZE], _NAME_TABLE_BYTES))

    def read_segments(self) -> None:
        """Read the program headers after the section headers."""
        start, count = self.header.phoff, self.header.phnum
        if not start or not count:
            return
        shape = self._shape(layout.SEGMENT, self.header.phentsize)
        # 0xffff means that the real number is kept in section header 0.
        if count == 0xFFFF and self.headers:
            count = self.headers[0].info
        for row in self._rows(shape, start, self._fitting(start, shape.size, count)):
            # 32-bit files have p_flags last but one, 64-bit ones right behind p_type.
            kind, offset, address, _, size, _, flags, _ = (
                row if self.bits == 32 else (row[0], *row[2:7], row[1], row[7])
            )
            file_size = max(0, min(size, self.view.size - offset))
            # Sections are clipped and reported one by one; without them this is all that tells.
            if kind == layout.PT_LOAD and file_size < size and not self.headers:
                self.problems.append(
                    f"the file is truncated: a loaded segment of {size} bytes at {offset:#x} ends "
                    "beyond it"
                )
            self.segments.append(Segment(kind, flags, offset, file_size, address))

    def read_dynamic(self) -> None:
        """Read the dynamic section, from the known segments and sections."""
        spans = [(s.offset, s.file_size) for s in self.segments if s.kind == layout.PT_DYNAMIC]
        spans += [(h.offset, h.size) for h in self.headers if h.kind == layout.SHT_DYNAMIC]
        for start, length in spans[:1]:
            shape = self._shape(layout.DYNAMIC)
            room = min(length, max(0, self.view.size - start)) // shape.size
            rows = self._rows(shape, start, min(room, _MAX_DYNAMIC_TAGS))
            # DT_NULL, which ends it, is 0.
            self.dynamic = [(tag, value) for tag, value in takewhile(itemgetter(0), rows)]
        # Files of debug information keep the segment of it, and a section without bytes.
        if self.problems:
            return
        if self.headers:
            expected = any(header.kind == layout.SHT_DYNAMIC for header in self.headers)
        else:
            expected = self.header.type == layout.ET_DYN
        last = max((tag for tag, _ in self.dynamic), default=_LAST_TAG + 1)
        if expected and (last > _LAST_TAG or not all(map(_is_text, self.texts(Tag.NEEDED)))):
            self.problems.append("its dynamic section is damaged")


def read_tables(view: ByteView, budget: Budget) -> ElfTables | None:
    """Read the structure of an ELF file; None for a cubin or an incomplete header."""
    ident = view.peek(0, _IDENT_SIZE)
    if len(ident) < _IDENT_SIZE or not ident.startswith(layout.MAGIC):
        return None
    bits, order = _BITS.get(ident[4]), _ORDERS.get(ident[5])
    if bits is None or order is None:
        return None
    shape = struct.Struct(order + layout.HEADER[bits])
    if view.size < _IDENT_SIZE + shape.size:
        return None
    header = ElfHeader(ident, *view.unpack(shape, _IDENT_SIZE))
    if header.machine == layout.EM_CUDA:
        return None
    tables = ElfTables(view, budget, bits, order, header)
    problems = tables.problems
    with guarded(problems, "the section header table"):
        tables.read_sections()
    with guarded(problems, "the program header table"):
        tables.read_segments()
    with guarded(problems, "the dynamic section"):
        tables.read_dynamic()
    if header.ident[layout.OS_ABI] in layout.CUDA_ABIS and header.machine != layout.EM_ARM:
        problems.append(f"its OS ABI is a cubin's, but its machine is {header.machine}, not 190")
    if header.version != layout.EV_CURRENT:
        problems.append(f"its header is of version {header.version}, not {layout.EV_CURRENT}")
    kinds = {row.kind for row in tables.headers} | {row.kind for row in tables.segments}
    if not problems and not any(kinds):
        problems.append("its header names neither sections nor segments")
    return tables
