"""A host file: what surrounds device code, and what the host's linker and loader need."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import partial

from ltocompat.files.objects.libraries import libraries_of
from ltocompat.files.objects.structure import (
    DELAYED,
    Needed,
    ObjectReader,
    Section,
    Symbols,
    guarded,
)
from ltocompat.files.objects.wrappers import Registration, read_registration
from ltocompat.model.generic import T
from ltocompat.model.image import CudaLibrary, HostBinary, PtxText
from ltocompat.model.location import Location


class ObjectFile:
    """The host file around device code, from ``read_host``.

    Slow parts (registration, symbols, strings) are read on request. A broken structure gives fewer
    facts and a sentence in ``problems``; no method raises anything but errors of
    ``ltocompat.model.errors``: time and symbol limits, or a file that changes while it is read.

    Attributes:
        format: ``ELF``, ``PE`` or ``COFF``.
        machine: ``x86-64``, ``AArch64`` ...
        type: ``object``, ``executable``, ``shared library`` or ``unknown``.
        sections: sections with bytes in the file, sorted by offset and clipped to the file.
        signed: True if it has a signature of its own bytes.
        checksum_at: see ``ObjectReader``.
    """

    def __init__(self, structure: ObjectReader) -> None:
        self._structure = structure
        self._registration: Registration | None = None
        self.format = structure.format
        self.machine = structure.machine
        self.type = structure.type
        self.sections = structure.sections
        self.signed, self.checksum_at = structure.signed, structure.checksum_at
        self._starts = [section.offset for section in self.sections]

    @property
    def problems(self) -> tuple[str, ...]:
        """Parts that could not be read, one sentence each; complete after ``describe``."""
        return tuple(dict.fromkeys(self._structure.problems))

    def section_at(self, offset: int) -> Section | None:
        """Return the section with this byte of the file; None between sections."""
        position = bisect_right(self._starts, offset) - 1
        if position < 0 or offset >= self.sections[position].end:
            return None
        return self.sections[position]

    def registration(self) -> Registration:
        """Read the regions to which the CUDA wrappers point."""
        if self._registration is None:
            nothing = Registration(known=False)
            read = partial(read_registration, self._structure)
            self._registration = self._read("the fatbin wrappers", read, nothing)
        return self._registration

    def symbol_size(self, offset: int) -> int | None:
        """Return bytes of the data symbol at exactly this file offset; None if stripped."""
        return self._read("the symbols", partial(self._structure.symbol_size, offset), None)

    def describe(self, place: Location, *, exports: bool = False) -> HostBinary:
        """Describe the requirements on this file's linker and loader.

        Args:
            place: the file.
            exports: True to list exported names.
        """
        structure = self._structure
        symbols = self._read("the symbols", structure.symbols, Symbols())
        nothing: tuple[tuple[CudaLibrary, ...], tuple[PtxText, ...]] = (), ()
        read = partial(libraries_of, structure)
        libraries, texts = self._read("the needed libraries", read, nothing)
        needed = self._read("the needed libraries", structure.needed, list[Needed]())
        names = list[str]()
        if exports:
            names = self._read("the exported names", structure.exports, names)
        return HostBinary(
            place=place,
            format=self.format,
            machine=self.machine,
            type=self.type,
            undefined_registrations=symbols.undefined_registrations,
            nvjitlink_imports=symbols.nvjitlink_imports,
            libraries=libraries,
            soname=structure.own_name,
            needed=tuple(row.file for row in needed if row.evidence != DELAYED),
            runpath=structure.runpath,
            debug_size=sum(section.size for section in self.sections if section.debug),
            exports=tuple(sorted(set(names))),
            ptx_texts=texts,
            unversioned=symbols.unversioned,
        )

    def _read(self, what: str, read: Callable[[], T], nothing: T) -> T:
        """Read a part; ``nothing``, and a problem, where it can't be read."""
        with guarded(self._structure.problems, what):
            return read()
        return nothing
