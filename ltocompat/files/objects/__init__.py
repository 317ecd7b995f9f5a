"""Host files: what surrounds device code, and what the host's linker and loader need.

``read_host`` is the door, which loads the reader of the format that the first bytes show.
"""

from __future__ import annotations

import functools
import struct
from typing import TYPE_CHECKING

from ltocompat.files.codec import ZSTD_MAGIC
from ltocompat.files.elf_layout import EM_AARCH64, EM_X86_64, ET_REL, HEADER, MAGIC
from ltocompat.files.first_bytes import FATBIN_MAGIC, may_be_coff
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.limits import MIB

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

    from ltocompat.files.byteview import ByteView
    from ltocompat.files.objects.host_file import ObjectFile
    from ltocompat.files.objects.structure import ObjectReader
    from ltocompat.model.limits import Budget


def read_host(view: ByteView, budget: Budget) -> ObjectFile | None:
    """Read the structure of a host file; None when the bytes are no ELF, PE or COFF host.

    A cubin is an ELF file too (e_machine 190), but no host.

    Raises:
        LimitExceeded: the time for this file, or its sections, are over the limits.
        UnreadableInput: the file cannot be read any more.
    """
    try:
        structure = structure_of(view, budget)
    except LimitExceeded:
        raise
    except Malformed:
        return None
    if structure is None:
        return None
    from ltocompat.files.objects.host_file import ObjectFile

    return ObjectFile(structure)


_HEADER = struct.Struct(f"<16s{HEADER[64]}")
_IDENTS = tuple(MAGIC + b"\2\1\1" + abi for abi in (b"\0", b"\3"))  # 64 bits, of System V or GNU


@functools.cache
def _search() -> BytesAhoCorasick:
    """The search for device code, and for every name that a reader of ELF looks for."""
    from ahocorasick_rs import BytesAhoCorasick, MatchKind

    from ltocompat.files.images.ltoir import MAGIC as LTOIR
    from ltocompat.files.objects.libraries import NAMES_IN_ELF
    from ltocompat.files.objects.structure import (
        FATBIN_SECTIONS,
        SYMBOL_PREFIXES,
        WRAPPER_SECTIONS,
    )

    sections = (name.encode() for name in FATBIN_SECTIONS | WRAPPER_SECTIONS)
    names = (*sections, *SYMBOL_PREFIXES, *NAMES_IN_ELF)
    code = (FATBIN_MAGIC, LTOIR, ZSTD_MAGIC, MAGIC)
    return BytesAhoCorasick([*code, *names], matchkind=MatchKind.LeftmostLongest)


def is_plain_object(view: ByteView) -> bool:
    """Return whether this is a small object without device code, and with no name that counts.

    Such are most of a static library, where reading their tables takes longer than inflating them.
    One whose table of sections is not whole is left to the readers.
    """
    head = view.peek(0, _HEADER.size)
    if not head.startswith(_IDENTS) or len(head) < _HEADER.size or view.size > MIB:
        return False
    _, kind, machine, *_, sections, _, _, _, _, size, count, _ = _HEADER.unpack(head)
    whole = count and sections + size * count <= view.size
    if kind != ET_REL or machine not in (EM_X86_64, EM_AARCH64) or not whole:
        return False
    return not _search().find_matches_as_indexes(view.read(len(MAGIC), view.size - len(MAGIC)))


def structure_of(view: ByteView, budget: Budget) -> ObjectReader | None:
    """The structure as the reader of its format has it; None where there is no such reader.

    Raises:
        Malformed: its headers contradict themselves.
        LimitExceeded: reading them would cost more than the budget has.
    """
    if view.peek(0, 4) == MAGIC:
        from ltocompat.files.objects.elf_host import read_elf

        return read_elf(view, budget)
    if view.peek(0, 2) == b"MZ":
        from ltocompat.files.objects.pe import read_pe

        return read_pe(view, budget)
    if not may_be_coff(view):
        return None
    from ltocompat.files.objects.coff import read_coff

    return read_coff(view, budget)
