"""The order in which the loader binds a file's imports: which of several missing ones it names.

glibc works through DT_RELA, then DT_JMPREL, each from its start (``elf/do-rel.h``), and stops at
the first symbol that nothing has (with RTLD_NOW or LD_BIND_NOW; else at the first call).
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator

from ltocompat.files.byteview import ByteView
from ltocompat.files.objects import elf
from ltocompat.files.objects.elf import ElfTables
from ltocompat.files.objects.elf_symbols import SymbolTable, symbol_tables, symbols_named
from ltocompat.files.objects.structure import TABLE_WINDOW, short_text, windows
from ltocompat.model.limits import Budget
from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.machine.objects import viewed

_ENTRY = struct.Struct("<QQq")
_TABLES = (("DT_RELA", "DT_RELASZ"), ("DT_JMPREL", "DT_PLTRELSZ"))
_LONGEST_NAME = 512


def in_order_of_binding(machine: Machine, path: str, names: Collection[str]) -> tuple[str, ...]:
    """The names as the loader meets them; those that no relocation needs come last, sorted.

    Args:
        machine: where the file is.
        path: a library or program of 64 bits.
        names: imported symbols.

    Raises:
        UnreadableInput: the file can't be opened.
        Malformed: it is no ELF file.
        LimitExceeded: its tables are over the limits.
    """
    found: list[str] = []
    with viewed(machine, path) as view:
        budget = Budget()
        tables = elf.read_tables(view, budget)
        symbols = None if tables is None or tables.bits != 64 else _symbols(view, tables)
        if tables is not None and symbols is not None:
            prefixes = sorted({name.encode() for name in names})
            if any(True for _ in symbols_named(view, budget, symbols, prefixes)):
                found = [*_bound(view, budget, tables, symbols, set(names))]
    return tuple(dict.fromkeys([*found, *sorted(names)]))


def _symbols(view: ByteView, tables: ElfTables) -> SymbolTable | None:
    """The table that the relocations count in."""
    address = tables.tag("DT_SYMTAB")
    offset = None if address is None else tables.offset_of(address)
    return next(
        (
            symbol_table
            for symbol_table in symbol_tables(view, tables)
            if symbol_table.offset == offset
        ),
        None,
    )


def _bound(
    view: ByteView, budget: Budget, tables: ElfTables, symbols: SymbolTable, names: set[str]
) -> Iterator[str]:
    seen: set[int] = set()
    for index in _indexes(view, budget, tables):
        if index in seen:
            continue
        seen.add(index)
        symbol = symbols.at(view, index)
        if symbol is not None:
            name = short_text(view, symbols.strings + symbol.name, _LONGEST_NAME)
            if name in names:
                yield name


def _indexes(view: ByteView, budget: Budget, tables: ElfTables) -> Iterator[int]:
    """The symbols of all relocations, by their place in the table of symbols."""
    step = TABLE_WINDOW - TABLE_WINDOW % _ENTRY.size
    for start, length in _TABLES:
        address, size = tables.tag(start), tables.tag(length)
        offset = None if address is None else tables.offset_of(address)
        if offset is None or not size:
            continue
        whole = min(size, view.size - offset) // _ENTRY.size * _ENTRY.size
        for _, piece in windows(view, budget, offset, whole, step=step):
            # The upper half of r_info is the symbol; 0 is none.
            yield from (info >> 32 for _, info, _ in _ENTRY.iter_unpack(piece) if info >> 32)
