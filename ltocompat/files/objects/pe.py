"""Windows images (PE: executables and DLLs) as an ``ObjectReader``.

Source: Microsoft's "PE Format". Every field is read through a bounds-checked ``ByteView``.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from ltocompat.files.byteview import ByteView, NamesOfTable
from ltocompat.files.first_bytes import COFF_MACHINES
from ltocompat.files.objects.coff import (
    FILE_HEADER,
    SCN_DATA,
    SCN_EXECUTE,
    SECTION,
    plain_data,
    read_sections,
    sections_of,
)
from ltocompat.files.objects.relocations import pointer_at
from ltocompat.files.objects.structure import (
    DELAYED,
    Needed,
    ObjectReader,
    Symbols,
    guarded,
    short_text,
)
from ltocompat.model.limits import MIB, Budget

_PE32, _PE32_PLUS = 0x10B, 0x20B
_TRAIT_DLL = 0x2000
_EXPORT, _CERTIFICATES = 0, 4
_CHECKSUM = 64  # in the optional header of both sizes
_MAX_LIBRARIES = 10_000
_MAX_FUNCTIONS = 100_000


class _ImportTable(Struct, frozen=True):
    """One of the two directories of imports.

    Attributes:
        directory: index of the data directory.
        entry: bytes of one row; a row without a name ends the table.
        name: place of the library's name (RVA) in a row.
        functions: place of the table of functions (RVA); the first that is not 0 counts.
        evidence: what to call it.
    """

    directory: int
    entry: int
    name: int
    functions: tuple[int, ...]
    evidence: str


_IMPORT_TABLES = (
    _ImportTable(1, 20, 12, (0, 16), "import table"),
    _ImportTable(13, 32, 4, (16,), DELAYED),
)


class PeHost(ObjectReader):
    """A PE image; ``ObjectReader`` describes the members.

    Pointers are in place, for the preferred image base; base relocations only list their places.
    """

    format = "PE"

    def __init__(self, view: ByteView, budget: Budget, signature: int) -> None:
        header = view.unpack(FILE_HEADER, signature + 4)
        machine, count, _, symbols, n_symbols, optional_size, traits = header
        super().__init__(view, budget)
        self._base = 0
        self._directories: list[tuple[int, int]] = []
        self.pointer_size = 8
        self.pointers_readable = False
        self.machine = COFF_MACHINES.get(machine, f"{machine:#x}")
        self.type = "shared library" if traits & _TRAIT_DLL else "executable"
        optional = signature + 4 + FILE_HEADER.size
        with guarded(self.problems, "the optional header"):
            self._read_optional_header(optional, optional_size)
        strings = symbols + 18 * n_symbols if symbols else None
        table = optional + optional_size
        self._rows = read_sections(view, budget, (table, count), strings, self.problems)
        self.sections = sections_of(self._rows, self._base)
        with guarded(self.problems, "the last section"):
            self._hold_to_size(optional, table + SECTION.size * (count - 1))
        with guarded(self.problems, "the export directory"):
            start = self._directory(_EXPORT)
            name = "" if start is None else self._text_at_rva(view.u32(start + 12))
            self.own_name = name or None

    def _read_optional_header(self, at: int, size: int) -> None:
        """Image base, pointer size and data directories (RVA, size)."""
        optional = self.view.sub(at, size)
        magic = optional.u16(0)
        if magic == _PE32_PLUS:
            self._base, directories = int.from_bytes(optional.read(24, 8), "little"), 108
        else:
            self._base, directories, self.pointer_size = optional.u32(28), 92, 4
        self.pointers_readable = magic in (_PE32, _PE32_PLUS)
        for index in range(min(optional.u32(directories), 16)):
            row = directories + 4 + 8 * index
            self._directories.append((optional.u32(row), optional.u32(row + 4)))
        self.signed = any(map(any, self._directories[_CERTIFICATES : _CERTIFICATES + 1]))
        self.checksum_at = at + _CHECKSUM if optional.u32(_CHECKSUM) else None

    def _hold_to_size(self, optional: int, last: int) -> None:
        """See that the sections fill the image: loaders hold them to its size."""
        alignment, size = self.view.u32(optional + 32), self.view.u32(optional + 56)
        end = self.view.u32(last + 8) + self.view.u32(last + 12)
        if not end or size - end not in range(alignment):
            self.problems.append(f"its sections end at {end:#x}, but its header says {size:#x}")
        elif any(row.rva % alignment for row in self._rows):
            self.problems.append(f"its sections don't begin at a multiple of {alignment:#x}")

    def _offset_of_rva(self, rva: int) -> int | None:
        self.budget.check_time()
        for row in self._rows:
            if 0 <= rva - row.rva < row.size:
                return row.offset + rva - row.rva
        return None

    def _text_at_rva(self, rva: int) -> str:
        offset = self._offset_of_rva(rva)
        return "" if offset is None else short_text(self.view, offset, 4096)

    def _directory(self, index: int) -> int | None:
        """File offset of a data directory, None when it is empty."""
        if index >= len(self._directories) or not all(self._directories[index]):
            return None
        return self._offset_of_rva(self._directories[index][0])

    def data_spans(self) -> list[tuple[int, int]]:
        """Sections of initialised data."""
        return plain_data(self._rows)

    def wrapper_search_spans(self) -> list[tuple[int, int]]:
        """Return data sections, in case a linker merged the wrappers' section into another one."""
        if not any(section.fatbin for section in self.sections):
            return []
        return [
            (s.offset, s.size)
            for s in self._rows
            if s.traits & SCN_DATA and not s.traits & SCN_EXECUTE
        ]

    def offset_of(self, address: int) -> int | None:
        """Look up the section table."""
        return self._offset_of_rva(address - self._base)

    def pointers(self, slots: Collection[int]) -> Mapping[int, int | None]:
        """Read the pointers unchanged from the file."""
        return {slot: pointer_at(self.view, slot, self.pointer_size) for slot in slots}

    def _imports(self) -> Iterator[tuple[str, int, str]]:
        """(library, RVA of its table of functions, evidence)."""
        for table in _IMPORT_TABLES:
            start = self._directory(table.directory)
            for index in range(_MAX_LIBRARIES if start is not None else 0):
                row = self.view.sub((start or 0) + index * table.entry, table.entry)
                name = self._text_at_rva(row.u32(table.name))
                if not row.u32(table.name):
                    break
                functions = [row.u32(place) for place in table.functions]
                yield name, next((rva for rva in functions if rva), 0), table.evidence

    def needed(self) -> list[Needed]:
        """Return the libraries of the import tables."""
        found: list[Needed] = []
        with guarded(self.problems, "the import table"):
            found.extend(Needed(name, evidence) for name, _, evidence in self._imports() if name)
        return found

    def symbols(self) -> Symbols:
        """Return the functions imported from nvJitLink; images have no other undefined names."""
        names: set[str] = set()
        with guarded(self.problems, "the import table"):
            for library, functions, _ in self._imports():
                if library.lower().startswith("nvjitlink"):
                    names.update(self._functions(functions))
        return Symbols.sorted_from(names, ())

    def _functions(self, rva: int) -> Iterator[str]:
        """Names of a table of functions; those with the top bit set are imported by number."""
        width = self.pointer_size
        for index in range(_MAX_FUNCTIONS):
            offset = self._offset_of_rva(rva + index * width)
            thunk = 0 if offset is None else pointer_at(self.view, offset, width)
            if not thunk:
                break
            if not thunk >> (8 * width - 1):
                # Two bytes of a hint come before the name.
                yield self._text_at_rva(thunk + 2)

    def exports(self) -> list[str]:
        """Return the names of the export directory."""
        start = self._directory(_EXPORT)
        if start is None:
            return []
        count, table = self.view.u32(start + 24), self._offset_of_rva(self.view.u32(start + 32))
        if table is None:
            return []
        kept = NamesOfTable(self.budget.limits.names_bytes)
        rows = range(table, table + 4 * min(count, _MAX_FUNCTIONS), 4)
        names = (kept.keep(self._text_at_rva(self.view.u32(row))) for row in rows)
        return [name for name in names if name]


def read_pe(view: ByteView, budget: Budget) -> PeHost | None:
    """Return a PE image: MZ and, at the offset in its header, ``PE`` and two zero bytes."""
    if view.peek(0, 2) != b"MZ" or view.size < 0x40:
        return None
    signature = view.u32(0x3C)
    return PeHost(view, budget, signature) if view.peek(signature, 4) == b"PE\0\0" else None


def checksum(view: ByteView, at: int) -> int:
    """Return the checksum of an image, with the field at an offset as zero.

    Source: CheckSumMappedFile of ImageHlp: 16-bit words with carry, and the size.
    """
    total = 0
    for start in range(0, view.size, MIB):
        chunk = view.peek(start, MIB)
        words = array("H", chunk + b"\0" * (len(chunk) % 2))
        if sys.byteorder == "big":
            words.byteswap()
        total += sum(words)
    total -= view.u16(at) + view.u16(at + 2)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total + view.size
