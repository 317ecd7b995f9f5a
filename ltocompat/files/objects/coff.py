"""Windows object files (COFF, also /bigobj) as an ``ObjectReader``, and the section table of PE.

Source: Microsoft's "PE Format". Every field is read through a bounds-checked ``ByteView``.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from ltocompat.files.byteview import ByteView, NamesOfTable
from ltocompat.files.first_bytes import COFF_MACHINES
from ltocompat.files.objects.relocations import pointer_at
from ltocompat.files.objects.structure import (
    FATBIN_SECTIONS,
    WRAPPER_SECTIONS,
    ObjectReader,
    Section,
    Symbols,
    clipped,
    in_file_order,
    short_text,
    windows,
)
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget

SCN_DATA, SCN_EXECUTE = 0x40, 0x20000000
_SCN_ZERO_FILLED = 0x80
_SCN_MORE_RELOCATIONS = 0x01000000
_POINTER_SIZES = {0x14C: 4, 0x1C0: 4, 0x1C4: 4}
# IMAGE_REL_AMD64_ADDR64, IMAGE_REL_ARM64_ADDR64, IMAGE_REL_I386_DIR32.
_ABSOLUTE_TYPES = {0x8664: 1, 0xAA64: 14, 0x14C: 6}
_CLASS_EXTERNAL, _CLASS_WEAK = 2, 105

_LONG_NAME = re.compile(r"/(?:([0-9]{1,7})|/([A-Za-z0-9+/]{6}))")
SECTION = struct.Struct("<8sIIIIIIHHI")
FILE_HEADER = struct.Struct("<HHIIIHH")
_BIG_HEADER = struct.Struct("<HHHHI16sIIIIIII")
_BIG_CLASS = bytes.fromhex("c7a1bad1eebaa94baf20faf66aa4dcb8")
_RELOCATION = struct.Struct("<IIH")
_SYMBOL = struct.Struct("<8sIhHBB")
_BIG_SYMBOL = struct.Struct("<8sIiHBB")


class CoffSection(Struct, frozen=True):
    """One row of the section table, its bytes clipped to the file."""

    name: str
    rva: int
    offset: int
    size: int
    relocations: int
    relocation_count: int
    traits: int

    @property
    def plain_data(self) -> bool:
        """Return whether it is initialised data: no code, no device code, no wrappers."""
        device = self.name in FATBIN_SECTIONS or self.name in WRAPPER_SECTIONS
        return bool(self.traits & SCN_DATA) and not self.traits & SCN_EXECUTE and not device


class _Header(Struct, frozen=True):
    machine: int
    table: int
    count: int
    symbols: int
    n_symbols: int
    big: bool

    @property
    def layout(self) -> struct.Struct:
        return _BIG_SYMBOL if self.big else _SYMBOL

    @property
    def strings(self) -> int:
        """Offset of the string table, right after the symbols."""
        return self.symbols + self.layout.size * self.n_symbols


def long_name(view: ByteView, raw: bytes, strings: int | None, limit: int) -> str:
    """Return a section's name: up to 8 bytes, or ``/123`` or ``//base64`` in the string table."""
    text = raw.partition(b"\0")[0].decode("utf-8", "replace")
    place = _LONG_NAME.fullmatch(text)
    if strings is None or place is None:
        return text
    decimal, wide = place.groups()
    # Six digits of 6 bits each where seven of base 10 don't suffice (LLVM, binutils).
    offset = int.from_bytes(base64.b64decode(f"AA{wide}"), "big") if wide else int(decimal)
    return short_text(view, strings + offset, limit) or text


def read_sections(
    view: ByteView, budget: Budget, table: tuple[int, int], strings: int | None, problems: list[str]
) -> list[CoffSection]:
    """Return the section table at (offset, number of rows).

    Rows outside of the file are left out and reported, like section bytes outside of it.
    """
    start, count = table
    fit = max(0, view.size - start) // SECTION.size
    if count > fit:
        problems.append(f"the section table claims {count} rows, but only {fit} fit in the file")
    budget.check("sections", min(count, fit), "{size} sections are over Limits.sections")
    found = []
    kept = NamesOfTable(budget.limits.names_bytes)
    for index in budget.timed(range(min(count, fit))):
        row = SECTION.unpack(view.read(start + index * SECTION.size, SECTION.size))
        raw, virtual, rva, size, offset, relocations, _, n_relocations, _, traits = row
        name = kept.keep(long_name(view, raw, strings, budget.limits.text_bytes))
        # Images pad the stored bytes to a whole sector; objects have no virtual size.
        stored = min(size, virtual) if virtual else size
        if traits & _SCN_ZERO_FILLED or not offset:
            if traits & SCN_DATA and stored:
                problems.append(f"section {name[:80]!r} of {stored} bytes isn't in the file")
            stored = 0
        inside = clipped(view, name, offset, stored, problems)
        found.append(CoffSection(name, rva, offset, inside, relocations, n_relocations, traits))
    return found


def sections_of(rows: list[CoffSection], base: int | None = None) -> tuple[Section, ...]:
    """Return sections with bytes in the file, loaded above ``base``; None: without addresses."""
    return in_file_order(
        Section(
            row.name,
            row.offset,
            row.size,
            0 if base is None else base + row.rva,
            bool(row.traits & SCN_EXECUTE),
        )
        for row in rows
        if row.size
    )


def plain_data(rows: list[CoffSection]) -> list[tuple[int, int]]:
    """Return (offset, size) of the sections with initialised data."""
    return [(row.offset, row.size) for row in rows if row.size and row.plain_data]


def _header(view: ByteView) -> _Header | None:
    """The header of an object; it has no magic, so everything in it must fit together."""
    head = view.peek(0, _BIG_HEADER.size)
    if len(head) < FILE_HEADER.size:
        return None
    machine, count, _, symbols, n_symbols, optional, _ = FILE_HEADER.unpack_from(head)
    header = _Header(machine, FILE_HEADER.size, count, symbols, n_symbols, big=False)
    known = count and not optional
    if (machine, count) == (0, 0xFFFF):
        fields = _BIG_HEADER.unpack(head.ljust(_BIG_HEADER.size, b"\0"))
        count, symbols, n_symbols = fields[10:13]
        header = _Header(fields[3], _BIG_HEADER.size, count, symbols, n_symbols, big=True)
        known = fields[5] == _BIG_CLASS
    return header if known and header.machine in COFF_MACHINES and _fits(view, header) else None


def _fits(view: ByteView, header: _Header) -> bool:
    """Return whether section table and symbols lie inside the file, in that order."""
    table_end = header.table + header.count * SECTION.size
    if not header.symbols:
        return table_end <= view.size and not header.n_symbols
    return table_end <= header.symbols and header.strings <= view.size


class CoffHost(ObjectReader):
    """A COFF object; ``ObjectReader`` describes the members. Addresses are file offsets."""

    format = "COFF"
    type = "object"
    pointers_readable = True

    def __init__(self, view: ByteView, budget: Budget, header: _Header) -> None:
        super().__init__(view, budget)
        self._header = header
        self.machine = COFF_MACHINES[header.machine]
        self.pointer_size = _POINTER_SIZES.get(header.machine, 8)
        strings = header.strings if header.symbols else None
        self._rows = read_sections(
            view, budget, (header.table, header.count), strings, self.problems
        )
        self.sections = sections_of(self._rows)

    def data_spans(self) -> list[tuple[int, int]]:
        """Sections of initialised data."""
        return plain_data(self._rows)

    def offset_of(self, address: int) -> int | None:
        """Return the address, which is a file offset here."""
        return address if 0 <= address < self.view.size else None

    def pointers(self, slots: Collection[int]) -> Mapping[int, int | None]:
        """Resolve pointers through the relocations of the section that holds each slot."""
        null = (slot for slot in slots if not pointer_at(self.view, slot, self.pointer_size))
        answer: dict[int, int | None] = dict.fromkeys(null, 0)
        for row in self.budget.timed(self._rows, slow=True):
            inside = {s - row.offset: s for s in slots if 0 <= s - row.offset < row.size}
            for where, symbol, kind in self._relocations(row) if inside else ():
                # Objects count places from the section's address, which is 0 in practice.
                slot = inside.get(where - row.rva, -1)
                if slot >= 0:
                    answer.pop(slot, None)
                    if kind == _ABSOLUTE_TYPES.get(self._header.machine):
                        answer[slot] = self._target(symbol, slot)
        return answer

    def _relocations(self, row: CoffSection) -> Iterator[tuple[int, int, int]]:
        """(place, symbol, type); with over 65,534 of them the first one holds their number."""
        size, start, count = _RELOCATION.size, row.relocations, row.relocation_count
        if count == 0xFFFF and row.traits & _SCN_MORE_RELOCATIONS:
            count = self.view.u32(start)
        for _, piece in windows(self.view, self.budget, start, count * size, row=size):
            yield from _RELOCATION.iter_unpack(piece)

    def _target(self, index: int, slot: int) -> int | None:
        """File offset of a symbol plus the addend that the slot holds; None when elsewhere."""
        layout = self._header.layout
        if index >= self._header.n_symbols:
            raise Malformed(
                f"a relocation refers to symbol {index}, but the file has fewer symbols"
            )
        place = self._header.symbols + index * layout.size
        _, value, section, *_ = self.view.unpack(layout, place)
        if not 0 < section <= len(self._rows) or not self._rows[section - 1].size:
            return None
        row = self._rows[section - 1]
        return row.offset + value + pointer_at(self.view, slot, self.pointer_size)

    def symbols(self) -> Symbols:
        """Read the symbol table; a symbol without section and value is undefined."""
        undefined: set[str] = set()
        defined: set[str] = set()
        header = self._header
        size, auxiliary, kept = header.layout.size, 0, NamesOfTable(self.budget.limits.names_bytes)
        whole = self.view.sub(header.symbols, header.n_symbols * size).size
        self.budget.check("symbols", header.n_symbols, "{size} symbols are over Limits.symbols")
        for _, piece in windows(self.view, self.budget, header.symbols, whole, row=size):
            rows = self.budget.timed(header.layout.iter_unpack(piece))
            for raw, value, section, _, kind, follow in rows:
                if auxiliary:
                    auxiliary -= 1
                    continue
                auxiliary = follow
                if kind in (_CLASS_EXTERNAL, _CLASS_WEAK):
                    name = kept.keep(self._symbol_name(raw))
                    (defined if section or value else undefined).add(name)
        return Symbols.sorted_from(undefined, defined)

    def _symbol_name(self, raw: bytes) -> str:
        """Read up to 8 bytes in place, or, behind four zero bytes, the string at an offset."""
        if raw[:4] == b"\0\0\0\0":
            offset = self._header.strings + int.from_bytes(raw[4:], "little")
            return short_text(self.view, offset, self.budget.limits.text_bytes)
        return raw.partition(b"\0")[0].decode("utf-8", "replace")


def read_coff(view: ByteView, budget: Budget) -> CoffHost | None:
    """Return a COFF object; None if the header isn't surely one."""
    header = _header(view)
    return CoffHost(view, budget, header) if header else None
