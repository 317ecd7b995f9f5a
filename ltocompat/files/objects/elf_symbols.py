"""Symbol tables of ELF files, read in bulk: one comparison a table, never an object a symbol."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, compress, count

from msgspec import Struct

from ltocompat.files.byteview import NamesOfTable, occurrences
from ltocompat.files.elf_layout import (
    SHN_UNDEF,
    SHT_DYNSYM,
    SHT_SYMTAB,
    STB_LOCAL,
    STT_OBJECT,
    SYMBOL_32,
    SYMBOL_64,
    Tag,
)
from ltocompat.files.objects.elf import ElfTables
from ltocompat.files.objects.relocations import words_of
from ltocompat.files.objects.structure import ElfTable, short_text, windows

_VISIBILITY, _NOT_EXPORTED = 3, (1, 2)  # STV_INTERNAL, STV_HIDDEN
_MOST_EXPORTS = 20_000


class Symbol(Struct, frozen=True):
    """One symbol: st_name, binding, type, section index, st_value, st_size."""

    name: int
    binding: int
    type: int
    section: int
    value: int
    size: int


class SymbolTable(ElfTable, frozen=True):
    """A table of symbols, with offset and size of its strings; both are clipped to the file."""

    strings: int
    strings_size: int

    @property
    def layout(self) -> struct.Struct:
        """The layout of one symbol."""
        return SYMBOL_64 if self.bits == 64 else SYMBOL_32

    def _decode(self, raw: bytes) -> Symbol:
        """The fields of one symbol; 32-bit files have them in another order."""
        if self.bits == 64:
            name, info, _, section, value, size = SYMBOL_64.unpack(raw)
        else:
            name, value, size, info, _, section = SYMBOL_32.unpack(raw)
        return Symbol(name, info >> 4, info & 15, section, value, size)

    def at(self, index: int) -> Symbol | None:
        """Return symbol ``index``; None if the table is shorter."""
        entry = self.layout.size
        if not 0 <= index < self.size // entry:
            return None
        return self._decode(self.view.read(self.offset + index * entry, entry))

    def name_of(self, place: int) -> str:
        """Return the name at an offset of the string table."""
        limit = min(self.budget.limits.text_bytes, max(0, self.strings_size - place))
        return short_text(self.view, self.strings + place, limit)

    def _pieces(self) -> Iterator[bytes]:
        """The table in windows of whole symbols."""
        entry = self.layout.size
        sentence = "{size} symbols are over the limit of {most}"
        self.budget.check("symbols", self.size // entry, sentence)
        for _, piece in windows(self.view, self.budget, self.offset, self.size, row=entry):
            yield piece

    def named(self, prefixes: Collection[bytes]) -> Iterator[tuple[int, str, Symbol]]:
        """Yield the symbols whose names start with one of the prefixes, with their numbers.

        The string table is searched first; if no prefix occurs, no symbol is read.
        """
        positions: set[int] = set()
        strings = (self.view, self.budget, self.strings, self.strings_size)
        for start, piece in windows(*strings, overlap=max(map(len, prefixes)) - 1):
            found = chain.from_iterable(occurrences(prefix, piece) for prefix in prefixes)
            positions.update(start - self.strings + position for position in found)
        if not positions:
            return
        entry, kept = self.layout.size, NamesOfTable(self.budget.limits.names_bytes)
        first = 0
        for piece in self._pieces():
            names = words_of(piece, 32)[:: entry // 4]
            wanted = compress(count(), map(positions.__contains__, names))
            for index in self.budget.timed(wanted):
                symbol = self._decode(piece[index * entry : (index + 1) * entry])
                yield first + index, kept.keep(self.name_of(symbol.name)), symbol
            first += len(names)

    def data_at(self, value: int) -> Iterator[Symbol]:
        """Yield the data symbols whose st_value is exactly ``value``."""
        width, entry = self.bits // 8, self.layout.size  # it stands behind as many bytes
        if value >= 1 << self.bits:
            return
        needle = value.to_bytes(width, "little")
        for piece in self._pieces():
            found = piece.find(needle)
            while found >= 0:
                start = found - width
                if start >= 0 and start % entry == 0:
                    symbol = self._decode(piece[start : start + entry])
                    if symbol.type == STT_OBJECT:
                        yield symbol
                found = piece.find(needle, found + 1)

    def exported_names(self) -> list[str]:
        """Return names of defined symbols for other files; not all if there are very many."""
        found: list[str] = []
        kept = NamesOfTable(self.budget.limits.names_bytes)
        for piece in self._pieces():
            for row in self.budget.timed(self.layout.iter_unpack(piece)):
                name, info, other, section = row[:4] if self.bits == 64 else (row[0], *row[3:])
                visible = other & _VISIBILITY not in _NOT_EXPORTED and info >> 4 != STB_LOCAL
                if name and visible and section != SHN_UNDEF:
                    found.append(kept.keep(self.name_of(name)))
                if len(found) == _MOST_EXPORTS:
                    return found
        return found


def symbol_tables(tables: ElfTables) -> list[SymbolTable]:
    """Return the symbol tables of a file: ``.symtab`` first; by PT_DYNAMIC without sections."""
    found = []
    for kind in (SHT_SYMTAB, SHT_DYNSYM):
        for header in tables.headers:
            if header.kind == kind and 0 < header.link < len(tables.headers):
                strings = tables.headers[header.link]
                parts = (header.offset, header.size), (strings.offset, strings.size)
                found.append(_clipped(tables, *parts))
    if not found and (dynamic := _dynamic_table(tables)):
        found.append(dynamic)
    return [table for table in found if table.size]


def dynamic_symbols(tables: ElfTables, found: Iterable[SymbolTable]) -> SymbolTable | None:
    """Return the symbol table to which dynamic relocations refer."""
    offset = tables.start_of(Tag.SYMTAB)
    return next((table for table in found if table.offset == offset), None)


def _clipped(tables: ElfTables, symbols: tuple[int, int], strings: tuple[int, int]) -> SymbolTable:
    """A table from the (offset, size) of its two parts."""
    parts = (
        (start, max(0, min(size, tables.view.size - start))) for start, size in (symbols, strings)
    )
    return SymbolTable(tables.view, tables.budget, tables.bits, *chain.from_iterable(parts))


def _dynamic_table(tables: ElfTables) -> SymbolTable | None:
    """The table of DT_SYMTAB; its length is in DT_HASH, else linkers put the strings behind it."""
    symtab, strtab, hashes = map(tables.start_of, (Tag.SYMTAB, Tag.STRTAB, Tag.HASH))
    if symtab is None or strtab is None:
        return None
    if hashes is not None and hashes + 8 <= tables.view.size:
        size = tables.view.u32(hashes + 4) * (SYMBOL_64 if tables.bits == 64 else SYMBOL_32).size
    else:
        size = strtab - symtab
    return _clipped(tables, (symtab, size), (strtab, tables.tag(Tag.STRSZ) or 0))
