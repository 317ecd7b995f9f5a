"""Relocation tables, read in bulk: which pointers of a file the linker or loader sets, and to what.

Sources: the ELF gABI (REL, RELA, RELR) and the processors' ABI supplements for the type numbers.
"""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterator
from itertools import compress, count

from msgspec import Struct

from ltocompat.files import elf_layout as layout
from ltocompat.files.byteview import ByteView
from ltocompat.files.objects.structure import ElfTable, windows

# Types that store a whole pointer: (base + addend) and (symbol + addend), by e_machine.
POINTER_TYPES = {
    **dict.fromkeys((layout.EM_386, layout.EM_X86_64), (8, 1)),
    layout.EM_AARCH64: (1027, 257),
    layout.EM_ARM: (23, 2),
    layout.EM_PPC64: (22, 38),
    layout.EM_RISCV: (3, 2),
}


class RelocationTable(ElfTable, frozen=True):
    """A table of relocations; ``kind`` is ``RELA``, ``REL`` or ``RELR``."""

    kind: str

    def words(self, fields: int) -> Iterator[memoryview[int]]:
        """Yield the words of the table in pieces of whole entries of ``words`` words."""
        entry = fields * self.bits // 8
        for _, piece in windows(self.view, self.budget, self.offset, self.size, row=entry):
            yield words_of(piece, self.bits)


class Relocation(Struct, frozen=True):
    """One relocation: the place that it writes, its type, the symbol's index, and the addend.

    The addend is None if the format stores it in the written place (REL, RELR); type 0 means RELR,
    which has only relative relocations.
    """

    where: int
    type: int
    symbol: int
    addend: int | None


def relocations_at(table: RelocationTable, wanted: Collection[int]) -> Iterator[Relocation]:
    """Yield relocations of a table that write to ``wanted`` places (in the table's addresses).

    Each relocation is compared: libcublasLt.so.13 has 363,241 in 8.7 MB, which takes 30 ms.
    """
    if not wanted:
        return
    if table.kind == "RELR":
        yield from _packed_at(table, sorted(wanted))
        return
    is_wanted = frozenset(wanted).__contains__
    fields = 3 if table.kind == "RELA" else 2
    shift, mask = (32, 0xFFFFFFFF) if table.bits == 64 else (8, 0xFF)
    for words in table.words(fields):
        for index in compress(count(), map(is_wanted, words[::fields])):
            where, info = words[fields * index], words[fields * index + 1]
            addend = _signed(words[fields * index + 2], table.bits) if fields == 3 else None
            yield Relocation(where, info & mask, info >> shift, addend)


def _packed_at(table: RelocationTable, wanted: list[int]) -> Iterator[Relocation]:
    """RELR: an even word is an address; an odd one is a bitmap of the pointers that follow it."""
    width = table.bits // 8
    reach = (table.bits - 1) * width
    base = 0
    for words in table.words(1):
        for word in table.budget.timed(words):
            if word & 1:
                for place in wanted[bisect_left(wanted, base) : bisect_left(wanted, base + reach)]:
                    bit, rest = divmod(place - base, width)
                    if not rest and word >> (bit + 1) & 1:
                        yield Relocation(place, 0, 0, None)
                base += reach
            else:
                position = bisect_left(wanted, word)
                if position < len(wanted) and wanted[position] == word:
                    yield Relocation(word, 0, 0, None)
                base = word + width


def words_of(piece: bytes, bits: int) -> memoryview[int]:
    """Return the little-endian words of ``bits`` bits in a piece of a table."""
    words = memoryview(piece).cast("B").cast("Q" if bits == 64 else "I")
    if sys.byteorder == "little":
        return words
    swapped = array(words.format, words)
    swapped.byteswap()
    return memoryview(swapped)


def _signed(word: int, bits: int) -> int:
    return word - (1 << bits) if word >> (bits - 1) else word


def pointer_at(view: ByteView, offset: int, size: int) -> int:
    """Return the little-endian pointer of ``size`` bytes at ``offset``."""
    return int(struct.unpack("<Q" if size == 8 else "<I", view.read(offset, size))[0])
