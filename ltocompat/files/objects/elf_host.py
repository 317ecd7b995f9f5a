"""A host ELF file as an ``ObjectReader``: objects, executables and shared libraries."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import chain

from ltocompat.files import elf_layout as layout
from ltocompat.files.byteview import ByteView
from ltocompat.files.elf_layout import SectionHeader, Tag
from ltocompat.files.objects import elf
from ltocompat.files.objects.elf import ElfTables
from ltocompat.files.objects.elf_symbols import SymbolTable, dynamic_symbols, symbol_tables
from ltocompat.files.objects.relocations import (
    POINTER_TYPES,
    Relocation,
    RelocationTable,
    pointer_at,
    relocations_at,
)
from ltocompat.files.objects.structure import (
    LIBRT,
    LIBRT_PREFIXES,
    OF_LIBRT,
    SYMBOL_PREFIXES,
    Needed,
    ObjectReader,
    Section,
    Symbols,
    guarded,
)
from ltocompat.model.library_name import library_name
from ltocompat.model.limits import Budget

# Alloc sections whose bytes are tables or device code, where no string constant lies. The linker
# fills .ldata with writable objects over 64 KiB (-mlarge-data-threshold); file names are shorter.
_NO_STRINGS = (".eh_frame", ".gcc_except_table", ".cask_resource", ".ldata", ".nvFatBinSegment")
_DYNAMIC_RELOCATIONS = {
    "RELA": (Tag.RELA, Tag.RELASZ),
    "REL": (Tag.REL, Tag.RELSZ),
    "RELR": (Tag.RELR, Tag.RELRSZ),
}
_OBJECT_RELOCATIONS = {layout.SHT_REL: "REL", layout.SHT_RELA: "RELA"}
# What pointers hold once a file is loaded, by their offsets; None: another file.
_Pointers = dict[int, int | None]


class ElfHost(ObjectReader):
    """An ELF file that is not a cubin; ``ObjectReader`` describes the members."""

    format = "ELF"

    def __init__(self, tables: ElfTables) -> None:
        super().__init__(tables.view, tables.budget)
        self._tables = tables
        self.problems = tables.problems
        self.sections = tables.sections()
        self.machine = tables.machine_name
        self.pointer_size = tables.bits // 8
        self.own_name = self._text_of(Tag.SONAME)
        # Where there is DT_RUNPATH, loaders ignore DT_RPATH (ld.so(8)). An element may be empty; a
        # text without any is ignored (glibc, elf/dl-load.c).
        path = self._text_of(Tag.RUNPATH) or self._text_of(Tag.RPATH)
        self.runpath = tuple(path.split(":")) if path else ()
        self.type = self._type()
        # Little-endian files whose section or program headers were readable.
        known = tables.headers if self._object else tables.segments
        self.pointers_readable = tables.order == "<" and bool(known)

    def _type(self) -> str:
        """The type; a position-independent program is marked, or has a loader and no name."""
        tables, kind = self._tables, self._tables.header.type
        if kind == layout.ET_DYN:
            pie = (tables.tag(Tag.FLAGS_1) or 0) & layout.DF_1_PIE
            loader = any(segment.kind == layout.PT_INTERP for segment in tables.segments)
            return "executable" if pie or (loader and not self.own_name) else "shared library"
        return {layout.ET_REL: "object", layout.ET_EXEC: "executable"}.get(kind, "unknown")

    @property
    def _object(self) -> bool:
        return self._tables.header.type == layout.ET_REL

    def _text_of(self, tag: Tag) -> str | None:
        return next(self._tables.texts(tag), None) or None

    def data_spans(self) -> list[tuple[int, int]]:
        """Return loaded sections without code; if there are no sections, segments without code."""
        headers = self._tables.headers
        if not headers:
            return self._tables.loaded(layout.PF_X, 0)
        wanted = [
            h
            for h in headers
            if h.kind == layout.SHT_PROGBITS
            and h.flags & layout.SHF_ALLOC
            and not h.flags & layout.SHF_EXECINSTR
            and not h.name.startswith(_NO_STRINGS)
            and not Section(h.name, 0, 0, 0).fatbin
        ]
        return [(h.offset, min(h.size, self.view.size - h.offset)) for h in wanted]

    def wrapper_search_spans(self) -> list[tuple[int, int]]:
        """Return writable segments, for files without sections or with merged sections."""
        if self._tables.headers and not any(section.fatbin for section in self.sections):
            return []
        return self._tables.loaded(layout.PF_W, layout.PF_W)

    def offset_of(self, address: int) -> int | None:
        """Look up the PT_LOAD segments; in objects, addresses are file offsets already."""
        if self._object:
            return address if 0 <= address < self.view.size else None
        return self._tables.offset_of(address)

    def pointers(self, slots: Collection[int]) -> Mapping[int, int | None]:
        """Resolve pointers by relocations; in place if the file is linked to a fixed address."""
        return self._object_pointers(slots) if self._object else self._linked_pointers(slots)

    def _linked_pointers(self, slots: Collection[int]) -> _Pointers:
        by_address: dict[int, int] = {}
        for segment in self.budget.timed(self._tables.segments, slow=True):
            if segment.kind == layout.PT_LOAD:
                end = segment.offset + segment.file_size
                inside = (slot for slot in slots if segment.offset <= slot < end)
                by_address |= {s - segment.offset + segment.address: s for s in inside}
        answer: _Pointers = {}
        relocated: set[int] = set()
        for table in self._dynamic_relocations():
            for found in relocations_at(table, by_address):
                slot = by_address[found.where]
                relocated.add(slot)
                self._put(answer, slot, found, self._dynamic_symbols)
        # Without a relocation a pointer is what the file has, and in a position-independent file
        # only a null pointer can be.
        for slot in relocated.symmetric_difference(by_address.values()):
            stored = pointer_at(self.view, slot, self.pointer_size)
            if not stored or self._tables.header.type == layout.ET_EXEC:
                answer[slot] = stored
        return answer

    def _put(
        self, answer: _Pointers, slot: int, found: Relocation, symbols: SymbolTable | None
    ) -> None:
        """Set the pointer at ``slot`` to what a relocation makes of it; unknown types unset it."""
        relative, absolute = POINTER_TYPES.get(self._tables.header.machine, (None, None))
        addend = found.addend
        if addend is None:
            addend = pointer_at(self.view, slot, self.pointer_size)
        if found.type in (0, relative):
            answer[slot] = addend
            return
        answer.pop(slot, None)
        if found.type != absolute or symbols is None:
            return
        symbol = symbols.at(found.symbol)
        if symbol is None:
            return
        if symbol.section == layout.SHN_UNDEF:
            answer[slot] = None
        elif not self._object:
            answer[slot] = symbol.value + addend
        elif symbol.section < min(layout.SHN_LORESERVE, len(self._tables.headers)):
            home = self._tables.headers[symbol.section]
            # Zero-filled sections have no bytes; a pointer into one is outside of the file.
            in_file = home.kind != layout.SHT_NOBITS
            answer[slot] = home.offset + symbol.value + addend if in_file else None

    def _object_pointers(self, slots: Collection[int]) -> _Pointers:
        """Resolve pointers of objects, whose relocation sections name their target and symbols."""
        headers = self._tables.headers
        null = (slot for slot in slots if not pointer_at(self.view, slot, self.pointer_size))
        answer: _Pointers = dict.fromkeys(null, 0)
        for relocations in self.budget.timed(headers if slots else (), slow=True):
            kind = _OBJECT_RELOCATIONS.get(relocations.kind)
            if kind is None or not 0 < relocations.info < len(headers):
                continue
            home = headers[relocations.info]
            inside = {s - home.offset: s for s in slots if 0 <= s - home.offset < home.size}
            if not inside or home.kind == layout.SHT_NOBITS:
                continue
            table = self._relocations(kind, relocations.offset, relocations.size)
            symbols = self._symbols_of(relocations)
            for found in relocations_at(table, inside):
                self._put(answer, inside[found.where], found, symbols)
        return answer

    def _relocations(self, kind: str, offset: int, size: int) -> RelocationTable:
        return RelocationTable(self.view, self.budget, self._tables.bits, offset, size, kind)

    def _symbols_of(self, relocations: SectionHeader) -> SymbolTable | None:
        headers = self._tables.headers
        if not 0 < relocations.link < len(headers):
            return None
        offset = headers[relocations.link].offset
        return next((table for table in self._symbol_tables if table.offset == offset), None)

    def _dynamic_relocations(self) -> list[RelocationTable]:
        """The tables that the loader works through."""
        found = []
        for kind, (start, length) in _DYNAMIC_RELOCATIONS.items():
            offset, size = self._tables.start_of(start), self._tables.tag(length)
            if self._tables.tag(start) is not None and (offset is None or not size):
                self.problems.append(f"the relocations of DT_{start.name} are outside of the file")
            elif offset is not None and size:
                found.append(self._relocations(kind, offset, size))
        return found

    @cached_property
    def _symbol_tables(self) -> list[SymbolTable]:
        found: list[SymbolTable] = []
        if self._tables.order == "<":
            with guarded(self.problems, "the symbol tables"):
                found = symbol_tables(self._tables)
        return found

    @cached_property
    def _dynamic_symbols(self) -> SymbolTable | None:
        """The table that dynamic relocations count in."""
        return dynamic_symbols(self._tables, self._symbol_tables)

    def needed(self) -> list[Needed]:
        """The names of DT_NEEDED, and of CUDA libraries that a tool has taken out of it.

        glibc ends the process if nobody has loaded a file of DT_VERNEED before (dl-version.c).
        """
        found = dict.fromkeys(self._tables.texts(Tag.NEEDED), "DT_NEEDED")
        for name in filter(library_name, self._tables.files_with_versions()):
            found.setdefault(name, "DT_VERNEED")
        return [Needed(name, evidence) for name, evidence in found.items() if name]

    def symbols(self) -> Symbols:
        """From .symtab and .dynsym."""
        undefined: set[str] = set()
        defined: set[str] = set()
        for table in self._symbol_tables:
            with guarded(self.problems, "a symbol table"):
                for _, name, symbol in table.named(SYMBOL_PREFIXES):
                    (undefined if symbol.section == layout.SHN_UNDEF else defined).add(name)
        return Symbols.sorted_from(undefined, defined, self._unversioned())

    def _unversioned(self) -> Iterator[str]:
        """Yield names of librt for which the linker saw no library that has them.

        It writes the version of what it saw; without one, any library may have the name.
        """
        table, versions = self._dynamic_symbols, self._tables.start_of(Tag.VERSYM)
        if table is None or LIBRT in self._tables.texts(Tag.NEEDED):
            return
        for index, name, symbol in table.named(LIBRT_PREFIXES):
            needed = (symbol.section, symbol.binding) == (layout.SHN_UNDEF, layout.STB_GLOBAL)
            plain = versions is None or (
                self.view.peek(versions + 2 * index, 2) in layout.WITHOUT_VERSION
            )
            if needed and plain and OF_LIBRT.fullmatch(name):
                yield name

    def exports(self) -> list[str]:
        """From .dynsym."""
        table = self._dynamic_symbols
        return [] if table is None else table.exported_names()

    def symbol_size(self, offset: int) -> int | None:
        """Return the first st_size of a data symbol that is not 0."""
        value, home = self._symbol_value(offset)
        tables = self._symbol_tables if value is not None else ()
        symbols = chain.from_iterable(table.data_at(value or 0) for table in tables)
        return next((s.size for s in symbols if s.size and home in (None, s.section)), None)

    def _symbol_value(self, offset: int) -> tuple[int | None, int | None]:
        """Return the st_value (and in objects st_shndx) that a symbol at this file offset has."""
        if self._object:
            for index, header in enumerate(self.budget.timed(self._tables.headers)):
                inside = 0 <= offset - header.offset < header.size
                if inside and header.kind not in (layout.SHT_NULL, layout.SHT_NOBITS):
                    return offset - header.offset, index
            return None, None
        for segment in self.budget.timed(self._tables.segments):
            if segment.kind == layout.PT_LOAD and 0 <= offset - segment.offset < segment.file_size:
                return offset - segment.offset + segment.address, None
        return None, None

    def prelinked_count(self, array: int) -> int | None:
        """Derive it from the size of ``__cudaPrelinkedFatbins``: a pointer per region, and null."""
        for table in self._symbol_tables:
            for symbol in table.data_at(array):
                if symbol.size > self.pointer_size:
                    return symbol.size // self.pointer_size - 1
        return None


def read_elf(view: ByteView, budget: Budget) -> ElfHost | None:
    """Return an ELF file; None for a cubin or a broken header."""
    tables = elf.read_tables(view, budget)
    return None if tables is None else ElfHost(tables)
