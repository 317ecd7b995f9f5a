"""Host files: what surrounds device code, and what the host's linker and loader need.

``read_host`` is the door, which loads the reader of the format that the first bytes show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ltocompat.files.elf_layout import MAGIC
from ltocompat.files.first_bytes import may_be_coff
from ltocompat.model.errors import LimitExceeded, Malformed

if TYPE_CHECKING:
    from ltocompat.files.byteview import ByteView
    from ltocompat.files.objects.host_file import ObjectFile
    from ltocompat.files.objects.structure import ObjectReader
    from ltocompat.model.limits import Budget


def read_host(view: ByteView, budget: Budget) -> ObjectFile | None:
    """Read the structure of a host file; None if the bytes are no ELF, PE or COFF host.

    A cubin is also an ELF file (e_machine 190), but not a host file.

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


def structure_of(view: ByteView, budget: Budget) -> ObjectReader | None:
    """Return the structure from the reader of its format; None if there is no such reader.

    Raises:
        Malformed: its headers contradict themselves.
        LimitExceeded: reading them would exceed the budget.
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
