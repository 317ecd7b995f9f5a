"""Cubins: ELF files of machine 190, in the two generations that toolkits have written.

Generation 1 (ELF ABI version 7: every architecture up to sm_90a with toolkits up to 12.9) keeps the
toolkit in ``e_version``, against the ELF standard. Generation 2 (ELF ABI version 8: sm_100 and up
since 12.8, every architecture since 13.0) keeps it in notes. Facts: ptxas 11.8 .. 13.5 and NVRTC
11.7 .. 13.5, compared with what cuobjdump prints.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from itertools import islice
from zlib import crc32

from msgspec import Struct

from ltocompat.files import elf_layout
from ltocompat.files.byteview import ByteView, occurrences
from ltocompat.files.elf_layout import (
    SHT_NOBITS,
    SHT_STRTAB,
    SHT_SYMTAB,
    STT_FUNC,
    SYMBOL_64,
    NameTable,
    SectionHeader,
)
from ltocompat.files.images.cubin_header import HEAD_SIZE, CubinHeader, parse_header
from ltocompat.files.images.cubin_notes import Notes
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import MIB, Budget

_SECTION = struct.Struct(f"<{elf_layout.SECTION[64]}")
_SHT_NV_INFO = 0x70000000
_SHT_NV_COMPAT = 0x70000086
STO_ENTRY = 0x10
# A record of ``.nv.info``: format, attribute, value.
_RECORD = struct.Struct("<BBH")
_SPEED = 4 * MIB  # bytes of records a second, at worst
_FORMAT_SIZED = 4
_EIATTR_CUDA_API_VERSION = 0x37
_EIATTR_REGCOUNT = 0x2F
_API_VERSION_RECORD = bytes((_FORMAT_SIZED, _EIATTR_CUDA_API_VERSION, 4, 0))
_NAMES_BEGIN = b"\0.shstrtab\0"
_COMPAT_ACCELERATED = 9
_ARCH_NOTES = (".note.nv.cuinfo", ".note.nv.cuver")
_ALL_BITS = 0xFF


# MOV, IMAD.MOV.U32 or LDC into R1, the stack pointer; on sm_70 a SHFL that never runs (@!PT);
# EXIT under no condition (nvdisasm 13.5).
_RETURNS = re.compile(
    rb"(?s)(?:(?:\x02\x7a|\x24\x76|\x82\x7b)\x01.{13})?(?:.[\xf0-\xff].{14})?\x4d\x79\0{8}\x80\x03"
)
_CONSTANTS = re.compile(rb"\.nv\.constant0\.([^\0]+)\0")


class Cubin(Struct, frozen=True):
    """A whole cubin: header, sections and the notes in them."""

    view: ByteView
    header: CubinHeader
    sections: tuple[SectionHeader, ...]
    budget: Budget

    @classmethod
    def parse(cls, view: ByteView, budget: Budget, size: int | None = None) -> Cubin:
        """Read the section table.

        Args:
            view: bytes from the start of the cubin, maybe with others after it.
            budget: the budget of its file.
            size: bytes of the whole cubin, including padding; None if unknown.

        Raises:
            Malformed: the header or the section table does not fit into the bytes.
        """
        header = parse_header(view.peek(0, HEAD_SIZE), size)
        rows, strings = _section_table(view, header, budget)
        names = NameTable(strings, budget)
        sections = (SectionHeader(names.at(row[0]), *row[1:8]) for row in budget.timed(rows))
        return cls(view, header, tuple(sections), budget)

    @property
    def extent(self) -> int:
        """Size in bytes: up to the end of its last table or section, where cuobjdump cuts it."""
        ends = (s.offset + s.size for s in self.sections if s.kind not in (0, SHT_NOBITS))
        return max(self.header.extent, *ends, 0)

    @property
    def problem(self) -> str | None:
        """Why its header differs from every writer's, or its section headers are missing."""
        return self.header.problem or self._table_problem()

    def _table_problem(self) -> str | None:
        names = self.sections[self.header.names_index]
        if (names.kind, names.name) != (SHT_STRTAB, ".shstrtab"):
            return "the section headers of the cubin do not name their string table .shstrtab"
        note = self.header.note_index
        named = self.sections[note:] if note == _ALL_BITS else self.sections[note : note + 1]
        if note and not any(section.name in _ARCH_NOTES for section in named):
            return (
                f"e_flags of the cubin say that section {note} has its architectures, but that "
                f"section is {named[0].name if named else 'missing'}"
            )
        return None

    @property
    def debug(self) -> bool:
        """Return whether it has device debug information (-G); line tables alone don't count."""
        return any(section.name == ".debug_info" for section in self.sections)

    def notes(self) -> Notes:
        """The notes on tools and architectures; none in generation 1."""
        wanted = (".note.nv.tkinfo", *_ARCH_NOTES)
        noted = [section for section in self.sections if section.name in wanted]
        if sum(section.size for section in noted) > self.view.size:
            raise Malformed("the notes of a cubin overlap")
        return Notes.parse(b"".join(map(self.bytes_of, noted)))

    def api_versions(self) -> frozenset[int]:
        """CUDA_API_VERSION of every kernel: 10 * major + minor of the compiler of each object."""
        found: set[int | None] = set()
        for section in self._of_type(_SHT_NV_INFO):
            if section.name.startswith(".nv.info."):
                info = self.bytes_of(section)
                if _EIATTR_CUDA_API_VERSION in info:
                    found.add(first_value(info, _EIATTR_CUDA_API_VERSION, self.budget))
        return frozenset(version for version in found if version is not None)

    def accelerated(self) -> bool:
        """Return whether it is for an ``a`` architecture, by ``.nv.compat`` (13.x) or header."""
        if self.header.arch.suffix:
            return True
        return any(
            (attribute, value) == (_COMPAT_ACCELERATED, 1)
            for section in self._of_type(_SHT_NV_COMPAT)
            for attribute, value, _ in self.budget.timed(_records(self.bytes_of(section)))
        )

    def _of_type(self, kind: int) -> Iterator[SectionHeader]:
        """The sections of a type, with a look at the clock before each."""
        found = [section for section in self.sections if section.kind == kind]
        return self.budget.timed(found, slow=True)

    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels: function symbols with the entry mark, in table order."""
        return tuple(name for name, _ in self.kernel_sizes())

    def kernel_sizes(self) -> tuple[tuple[str, int], ...]:
        """The kernels by name, each with the size of its code in bytes."""
        found: list[tuple[str, int]] = []
        for names, rows in _symbol_tables(self.view, self.sections, self.budget):
            found += ((names.at(row[0]), row[5]) for row in _kernels(rows, self.budget))
        return tuple(found)

    def registers(self) -> int | None:
        """The largest number of registers per thread of a kernel or function; None without code.

        ``.nv.info`` has a record for each function: its symbol, and its registers.
        """
        counts = [
            int.from_bytes(value[4:8], "little")
            for section in self._of_type(_SHT_NV_INFO)
            for attribute, _, value in self.budget.timed(_records(self.bytes_of(section)))
            if attribute == _EIATTR_REGCOUNT
        ]
        return max(counts, default=None)

    def bytes_of(self, section: SectionHeader) -> bytes:
        """Return the bytes of a section."""
        return self.view.read(section.offset, section.size)


def kernel_names(
    view: ByteView, budget: Budget, size: int | None = None, *, first: bool = False
) -> tuple[str, ...]:
    """Read ``Cubin.kernels`` and nothing else of a cubin.

    Args:
        view: the cubin.
        budget: the budget of its file.
        size: bytes of the whole cubin, including padding; None if unknown.
        first: True for only the first name; all tables of symbols are read completely.

    Raises:
        Malformed: the header, the section table or a table of symbols does not fit into the bytes.
    """
    found: list[str] = []
    for names, rows in _symbol_tables(view, _nameless_sections(view, budget, size), budget):
        if not (first and found):
            kernels = islice(_kernels(rows, budget), 1 if first else None)
            found += (names.at(kernel[0]) for kernel in kernels)
    return tuple(found)


def kernel_set(names: bytes) -> int:
    """Return a number that differs between sets of kernels, from their constant sections' names."""
    return crc32(b"\0".join(sorted({*_CONSTANTS.findall(names)})))


def kernels_only_return(view: ByteView, budget: Budget, size: int | None = None) -> bool:
    """Return whether a cubin has kernels, and each returns before it does anything.

    Arguments and errors are those of ``kernel_names``. It works for optimized code for sm_70 and
    newer, except sm_87, whose kernels begin with a check.
    """
    sections = _nameless_sections(view, budget, size)
    found = False
    for _, rows in _symbol_tables(view, sections, budget):
        for _, _, _, number, value, _ in _kernels(rows, budget):
            found = number < len(sections)
            if not found or not _RETURNS.match(view.peek(sections[number].offset + value, 48)):
                return False
    return found


def _kernels(rows: bytes, budget: Budget) -> Iterator[tuple[int, ...]]:
    """The rows of the kernels in a table of symbols."""
    for row in budget.timed(SYMBOL_64.iter_unpack(rows)):
        if row[1] & 0xF == STT_FUNC and row[2] & STO_ENTRY:
            yield row


def _nameless_sections(view: ByteView, budget: Budget, size: int | None) -> list[SectionHeader]:
    """The sections of a cubin, of whose names nothing is read."""
    rows, _ = _section_table(view, parse_header(view.peek(0, HEAD_SIZE), size), budget)
    return [SectionHeader("", *row[1:8]) for row in rows]


def _section_table(
    view: ByteView, header: CubinHeader, budget: Budget
) -> tuple[list[tuple[int, ...]], bytes]:
    """The section headers as they are stored, and the bytes of their names."""
    offset, entry_size, count = header.section_table
    if count and entry_size != _SECTION.size:
        raise Malformed(f"section headers of a cubin have {entry_size} bytes, not 64")
    budget.check("sections", count, "a cubin with {size} sections is over the limit")
    rows = list(_SECTION.iter_unpack(view.read(offset, count * _SECTION.size)))
    return rows, _strings(view, rows, header.names_index, budget)


def _symbol_tables(
    view: ByteView, sections: Sequence[SectionHeader], budget: Budget
) -> Iterator[tuple[NameTable, bytes]]:
    """The names and the whole rows of each table of symbols.

    Args:
        view: the cubin.
        sections: its sections.
        budget: account of the file that it belongs to.
    """
    tables = [each for each in sections if each.kind == SHT_SYMTAB and each.link < len(sections)]
    for table in budget.timed(tables, slow=True):
        strings = sections[table.link]
        names = NameTable(view.read(strings.offset, strings.size), budget)
        rows = view.read(table.offset, table.size)
        yield names, rows[: len(rows) // SYMBOL_64.size * SYMBOL_64.size]


def early_api_versions(data: bytes) -> frozenset[int] | None:
    """Return ``Cubin.api_versions`` from the first bytes of a cubin, without its section table.

    Assemblers write the section names first, then the symbol names, which begin with the section
    names again, and the ``.nv.info`` sections before the code, so their number is known. The result
    is None if not all of them are within ``data``.
    """
    symbols = data.find(_NAMES_BEGIN, HEAD_SIZE + 1)
    if not data.startswith(_NAMES_BEGIN, HEAD_SIZE) or symbols < 0:
        return None
    expected = data.count(b"\0.nv.info.", HEAD_SIZE + 1, symbols)
    found = [
        int.from_bytes(data[at + 4 : at + 8], "little")
        for at in occurrences(_API_VERSION_RECORD, data)
        if at % 4 == 0 and data[at + 5 : at + 8] == b"\0\0\0"
    ]
    return frozenset(found) if len(found) == expected > 0 else None


def _strings(view: ByteView, rows: list[tuple[int, ...]], index: int, budget: Budget) -> bytes:
    if not rows:
        return b""
    if index >= len(rows):
        raise Malformed(f"a cubin's string table is section {index} of only {len(rows)} sections")
    names = view.sub(*rows[index][4:6])
    budget.check("names_bytes", names.size, "a cubin with {size} bytes of names is over the limit")
    return names.all()


def _records(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(attribute, value, all bytes of a long value) of ``.nv.info`` records.

    A record is u8 format, u8 attribute, u16 value, and for one format that many bytes, of which the
    first four are the value.
    """
    position = 0
    while position + 4 <= len(data):
        kind, attribute, number = _RECORD.unpack_from(data, position)
        position += 4
        if kind == _FORMAT_SIZED:
            value = data[position : position + number]
            yield attribute, int.from_bytes(value[:4], "little"), value
            position += number
        else:
            yield attribute, number, b""


def first_value(data: bytes, wanted: int, budget: Budget) -> int | None:
    """Return the value of an attribute's first record; None if there is no such record."""
    budget.check_call(len(data), _SPEED)
    return next((value for attribute, value, _ in _records(data) if attribute == wanted), None)
