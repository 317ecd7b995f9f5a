"""Shared libraries and programs as the dynamic loader reads them, as values."""

from __future__ import annotations

from msgspec import Struct

from ltocompat.files import elf_layout
from ltocompat.files.byteview import ByteView
from ltocompat.files.elf_layout import Tag
from ltocompat.files.objects import elf
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget
from ltocompat.targets.linkers.machine import Machine

_DF_1_NODEFLIB = 0x800  # elf.h: ignore default library search path
_IDENTIFICATION_BYTES = 64  # ld.so takes shorter files for broken


class SharedObject(Struct, frozen=True):
    """One ELF file, as far as it matters to the loader.

    Attributes:
        machine: processor: ``x86-64``, ``AArch64``.
        program: True if it names a loader (PT_INTERP), as programs do.
        soname: DT_SONAME.
        needed: DT_NEEDED in the order of the file.
        rpath: DT_RPATH as written; None if there is none, or a DT_RUNPATH makes it void.
        runpath: DT_RUNPATH as written.
        no_default: True if it was linked with ``-z nodefaultlib``, so that the default folders are
            not searched.
    """

    machine: str
    program: bool
    soname: str | None
    needed: tuple[str, ...]
    rpath: str | None
    runpath: str | None
    no_default: bool


def read_object(machine: Machine, path: str) -> SharedObject:
    """Read one library or program.

    Raises:
        UnreadableInput: it can't be opened.
        Malformed: it is not an ELF file; the text is ld.so's error for such files.
    """
    return machine.once(path, _parsed)


def _parsed(view: ByteView) -> SharedObject:
    if view.size < _IDENTIFICATION_BYTES:
        raise Malformed("file too short")
    tables = elf.read_tables(view, Budget())
    if tables is None:
        raise Malformed("invalid ELF header")
    runpath = next(tables.texts(Tag.RUNPATH), None)
    return SharedObject(
        machine=tables.machine_name,
        program=any(segment.kind == elf_layout.PT_INTERP for segment in tables.segments),
        soname=next(tables.texts(Tag.SONAME), None) or None,
        needed=tuple(filter(None, tables.texts(Tag.NEEDED))),
        rpath=next(tables.texts(Tag.RPATH), None) if runpath is None else None,
        runpath=runpath,
        no_default=bool((tables.tag(Tag.FLAGS_1) or 0) & _DF_1_NODEFLIB),
    )
