"""Symbol tables of ELF files, read in bulk: one comparison a table, never an object a symbol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import compress, count

from msgspec import Struct

from ltocompat.files.byteview import ByteView
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
from ltocompat.files.objects.structure import occurrences, short_text, windows
from ltocompat.model.limits import Budget

_VISIBILITY, _NOT_EXPORTED = 3, (1, 2)  # STV_INTERNAL, STV_HIDDEN
_MOST_EXPORTS = 20_000


class Symbol(Struct, frozen=True):
    """One symbol: st_name, type, section index, st_value, st_size."""

    name: int
    type: int
    section: int
    value: int
    size: int


class SymbolTable(Struct, frozen=True):
    """Offsets and sizes of one symbol table and its strings, clipped to the file; bytes."""

    bits: int
    offset: int
    size: int
    strings: int
    strings_size: int

    @property
    def entry(self) -> int:
        """Bytes of one symbol."""
        return (SYMBOL_64 if self.bits == 64 else SYMBOL_32).size

    def decode(self, raw: bytes) -> Symbol:
        """The fields of one symbol; 32-bit files have them in another order."""
        if self.bits == 64:
            name, info, _, section, value, size = SYMBOL_64.unpack(raw)
        else:
            name, value, size, info, _, section = SYMBOL_32.unpack(raw)
        return Symbol(name, info & 15, section, value, size)

    def at(self, view: ByteView, index: int) -> Symbol | None:
        """Symbol ``index``, None where the table is shorter."""
        if not 0 <= index < self.size // self.entry:
            return None
        return self.decode(view.read(self.offset + index * self.entry, self.entry))

    def pieces(self, view: ByteView, budget: Budget) -> Iterator[tuple[int, bytes]]:
        """The table in windows of whole symbols."""
        count = self.size // self.entry
        budget.check("symbols", count, "{size} symbols are over the limit of {most}")
        return windows(view, budget, self.offset, self.size, row=self.entry)


def symbol_tables(view: ByteView, tables: ElfTables) -> list[SymbolTable]:
    """The symbol tables of a file: ``.symtab`` first; by PT_DYNAMIC where sections are missing."""
    found = []
    for kind in (SHT_SYMTAB, SHT_DYNSYM):
        for header in tables.headers:
            if header.kind == kind and 0 < header.link < len(tables.headers):
                strings = tables.headers[header.link]
                parts = (header.offset, header.size), (strings.offset, strings.size)
                found.append(_clipped(view, tables.bits, *parts))
    if not found and (dynamic := _dynamic_table(view, tables)):
        found.append(dynamic)
    return [table for table in found if table.size > 0 and table.strings_size > 0]


def dynamic_symbols(tables: ElfTables, found: Iterable[SymbolTable]) -> SymbolTable | None:
    """The one of a file's symbol tables that dynamic relocations count in."""
    offset = tables.start_of(Tag.SYMTAB)
    return next((table for table in found if table.offset == offset), None)


def _clipped(
    view: ByteView, bits: int, symbols: tuple[int, int], strings: tuple[int, int]
) -> SymbolTable:
    """A table from the (offset, size) of its two parts."""
    (start, size), (text, length) = symbols, strings
    return SymbolTable(
        bits=bits,
        offset=start,
        size=max(0, min(size, view.size - start)),
        strings=text,
        strings_size=max(0, min(length, view.size - text)),
    )


def _dynamic_table(view: ByteView, tables: ElfTables) -> SymbolTable | None:
    """The table of DT_SYMTAB; its length is in DT_HASH, else linkers put the strings behind it."""
    symtab, strtab, hashes = map(tables.start_of, (Tag.SYMTAB, Tag.STRTAB, Tag.HASH))
    if symtab is None or strtab is None:
        return None
    if hashes is not None and hashes + 8 <= view.size:
        size = view.u32(hashes + 4) * (SYMBOL_64 if tables.bits == 64 else SYMBOL_32).size
    else:
        size = strtab - symtab
    return _clipped(view, tables.bits, (symtab, size), (strtab, tables.tag(Tag.STRSZ) or 0))


def symbols_named(
    view: ByteView, budget: Budget, table: SymbolTable, prefixes: Iterable[bytes]
) -> Iterator[tuple[str, Symbol]]:
    """The symbols whose names start with one of the prefixes.

    The string table is searched first: where no prefix occurs, no symbol is looked at.
    """
    positions: set[int] = set()
    for prefix in prefixes:
        found = occurrences(view, budget, table.strings, table.strings_size, prefix)
        positions.update(position - table.strings for position in found)
    if not positions:
        return
    stride, kept = table.entry // 4, budget.names()
    for _, piece in table.pieces(view, budget):
        names = words_of(piece, 32)[::stride]
        for index in budget.timed(compress(count(), map(positions.__contains__, names))):
            at = index * table.entry
            symbol = table.decode(piece[at : at + table.entry])
            text = short_text(view, table.strings + symbol.name, budget.limits.text_bytes)
            yield kept.keep(text), symbol


def data_symbols_at(
    view: ByteView, budget: Budget, table: SymbolTable, value: int
) -> Iterator[Symbol]:
    """The data symbols whose st_value is exactly ``value``."""
    width, field = (8, 8) if table.bits == 64 else (4, 4)
    if value >= 1 << 8 * width:
        return
    needle = value.to_bytes(width, "little")
    for _, piece in table.pieces(view, budget):
        found = piece.find(needle)
        while found >= 0:
            budget.check_time()
            start = found - field
            if start >= 0 and start % table.entry == 0:
                symbol = table.decode(piece[start : start + table.entry])
                if symbol.type == STT_OBJECT:
                    yield symbol
            found = piece.find(needle, found + 1)


def exported_names(view: ByteView, budget: Budget, table: SymbolTable) -> list[str]:
    """Names of the defined symbols that other files may bind to; of very many not all."""
    found: list[str] = []
    kept = budget.names()
    layout = SYMBOL_64 if table.bits == 64 else SYMBOL_32
    for _, piece in table.pieces(view, budget):
        for row in budget.timed(layout.iter_unpack(piece)):
            name, info, other, section = row[:4] if table.bits == 64 else (row[0], *row[3:])
            visible = other & _VISIBILITY not in _NOT_EXPORTED and info >> 4 != STB_LOCAL
            if name and visible and section != SHN_UNDEF:
                text = short_text(view, table.strings + name, budget.limits.text_bytes)
                found.append(kept.keep(text))
            if len(found) == _MOST_EXPORTS:
                return found
    return found
