"""The symbols of a cubin: what a device link sees of it, and what its kernels call.

A cubin is an ELF file like others: a name is local, global or weak, and defined in a section or
nowhere. Each function has a section of its own, whose relocations name what it calls.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from msgspec import Struct

from ltocompat.files.elf_layout import (
    SHN_COMMON,
    SHN_UNDEF,
    SHT_REL,
    SHT_RELA,
    SHT_SYMTAB,
    STB_GLOBAL,
    STB_WEAK,
    STT_FUNC,
    STT_OBJECT,
    SYMBOL_64,
    NameTable,
    SectionHeader,
)
from ltocompat.files.images.cubin import STO_ENTRY, Cubin
from ltocompat.model.errors import Malformed
from ltocompat.model.symbols import DeviceSymbols

_OFFSET_AND_INFO = struct.Struct("<QQ")
_SYMBOL_AND_TEXT = struct.Struct("<II")
# Relocations with an addend, and without: bytes of an entry.
_RELOCATIONS = {SHT_RELA: 24, SHT_REL: 16}
_CODE = (".rel.text.", ".rela.text.")

# STT_OBJECT, and what NVIDIA's tools write instead.
_VARIABLES = frozenset({STT_OBJECT, 13})
_STO_SHARED = 0x40


class _Symbol(Struct, frozen=True):
    """One row of a symbol table; ``section`` is the number of the one that defines it."""

    name: str
    type: int
    binding: int
    other: int
    section: int

    @property
    def linked(self) -> bool:
        """Return whether other objects see it."""
        known = self.type == STT_FUNC or self.type in _VARIABLES
        return known and self.binding in (STB_GLOBAL, STB_WEAK)


def read(cubin: Cubin) -> DeviceSymbols:
    """Return the symbols of a cubin in table order, including names that drivers provide.

    Variables in dynamic shared memory don't count as undefined.

    Raises:
        Malformed: its symbol table or its relocations do not fit into it.
    """
    table, names = _table(cubin)
    rows = cubin.budget.timed(SYMBOL_64.iter_unpack(table))
    symbols = [_Symbol(names.at(name), i & 0xF, i >> 4, o, at) for name, i, o, at, _, _ in rows]
    linked = [symbol for symbol in symbols if symbol.linked]
    # A weak one may stay undefined, as ELF has it: newer assemblers leave marks of that sort.
    absent = [s for s in linked if s.section == SHN_UNDEF and s.binding == STB_GLOBAL]
    functions = _names(symbol for symbol in absent if symbol.type == STT_FUNC)
    present = [symbol for symbol in linked if symbol.section != SHN_UNDEF]
    strong = [s for s in present if s.binding == STB_GLOBAL and s.section != SHN_COMMON]
    return DeviceSymbols(
        functions,
        _names(_reached(cubin, symbols)) if functions else (),
        _names(s for s in absent if s.type in _VARIABLES and not s.other & _STO_SHARED),
        _names(strong),
        _names(s for s in present if s.binding == STB_WEAK or s.section == SHN_COMMON),
        _names(s for s in present if s.type == STT_FUNC and s.other & STO_ENTRY),
        tuple(_prototypes(cubin, symbols, names)),
    )


def _names(symbols: Iterable[_Symbol]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(symbol.name for symbol in symbols))


def _table(cubin: Cubin) -> tuple[bytes, NameTable]:
    """The rows of the symbol table, and the names that they point to."""
    table = next((s for s in cubin.sections if s.kind == SHT_SYMTAB), None)
    if table is None:
        return b"", NameTable(b"", cubin.budget)
    if table.link >= len(cubin.sections):
        raise Malformed(
            f"the names of a cubin's symbols should be in section {table.link}, which is missing"
        )
    names = NameTable(cubin.bytes_of(cubin.sections[table.link]), cubin.budget)
    return _whole(cubin, table, SYMBOL_64.size), names


def _prototypes(
    cubin: Cubin, symbols: list[_Symbol], names: NameTable
) -> Iterator[tuple[str, str]]:
    """The types that functions others see return and take, as assemblers and linkers note them."""
    for section in cubin.sections:
        rows = _whole(cubin, section, 8) if section.name == ".nv.prototype" else b""
        for number, text in cubin.budget.timed(_SYMBOL_AND_TEXT.iter_unpack(rows)):
            if number < len(symbols) and symbols[number].linked:
                yield symbols[number].name, names.at(text)


def _reached(cubin: Cubin, symbols: list[_Symbol]) -> Iterator[_Symbol]:
    """The undefined functions that kernels reach, by the calls of each section of code."""
    calls = _calls(cubin)
    waiting = [s.section for s in symbols if s.type == STT_FUNC and s.other & STO_ENTRY]
    seen: set[int] = set()
    while waiting:
        section = waiting.pop()
        if section in seen:
            continue
        seen.add(section)
        for number in cubin.budget.timed(calls.get(section, ())):
            if number < len(symbols) and symbols[number].type == STT_FUNC:
                callee = symbols[number]
                if callee.section == SHN_UNDEF:
                    yield callee
                else:
                    waiting.append(callee.section)


def _calls(cubin: Cubin) -> dict[int, set[int]]:
    """For each section of code the numbers of the symbols that it names."""
    tables = [s for s in cubin.sections if s.kind in _RELOCATIONS and s.name.startswith(_CODE)]
    if sum(table.size for table in tables) > cubin.view.size:
        raise Malformed("the relocations of a cubin overlap")
    calls: dict[int, set[int]] = {}
    for table in cubin.budget.timed(tables):
        size = _RELOCATIONS[table.kind]
        rows = _whole(cubin, table, size)
        named = calls.setdefault(table.info, set())
        for at in cubin.budget.timed(range(0, len(rows), size)):
            named.add(_OFFSET_AND_INFO.unpack_from(rows, at)[1] >> 32)
    return calls


def _whole(cubin: Cubin, table: SectionHeader, size: int) -> bytes:
    """The rows of a table; a last one that is cut is left out."""
    data = cubin.bytes_of(table)
    return data[: len(data) // size * size]
