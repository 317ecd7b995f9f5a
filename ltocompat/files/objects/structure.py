"""What the reader of one host format offers to the rest of this folder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

from ltocompat.files.objects.section import Section

# What nvcc's objects leave to the device link, and nvJitLink's interface. Its header renames every
# function to __nvJitLinkCreate_12_4 and so on; programs that load it by hand use the plain names.
REGISTRATION_PREFIXES = ("__cudaRegisterLinkedBinary_", "__fatbinwrap_")
NVJITLINK_PREFIXES = ("__nvJitLink", "nvJitLink")
SYMBOL_PREFIXES = tuple(name.encode() for name in REGISTRATION_PREFIXES + NVJITLINK_PREFIXES)


class Needed(NamedTuple):
    """A library that the loader brings, by file name, and the table that says so."""

    file: str
    evidence: str


class Symbols(NamedTuple):
    """Names around CUDA registration and nvJitLink that a host file leaves open or defines.

    Attributes:
        undefined_registrations: ``__cudaRegisterLinkedBinary_*`` and ``__fatbinwrap_*``, sorted.
        nvjitlink_imports: ``__nvJitLink*_M_m`` and ``nvJitLink*`` taken from elsewhere, sorted.
        nvjitlink_defined: the same kind of names, defined in this file.
    """

    undefined_registrations: tuple[str, ...] = ()
    nvjitlink_imports: tuple[str, ...] = ()
    nvjitlink_defined: tuple[str, ...] = ()

    @classmethod
    def sorted_from(cls, undefined: Iterable[str], defined: Iterable[str]) -> Symbols:
        """Sort names of undefined and defined symbols into their kinds; others are left out."""
        open_names = sorted(undefined)
        return cls(
            tuple(name for name in open_names if name.startswith(REGISTRATION_PREFIXES)),
            tuple(name for name in open_names if name.startswith(NVJITLINK_PREFIXES)),
            tuple(name for name in sorted(defined) if name.startswith(NVJITLINK_PREFIXES)),
        )


class ObjectReader(Protocol):
    """A host file taken apart; ELF, PE and COFF each have their own reader.

    An *address* is whatever the pointers of the format hold: virtual addresses in linked files,
    file offsets in objects (nothing in an object has an address yet).
    """

    @property
    def format(self) -> str:
        """``ELF``, ``PE`` or ``COFF``."""

    @property
    def machine(self) -> str:
        """Name of the processor."""

    @property
    def type(self) -> str:
        """``object``, ``executable``, ``shared library`` or ``unknown``."""

    @property
    def sections(self) -> tuple[Section, ...]:
        """Stretches with bytes in the file, sorted by offset."""

    @property
    def problems(self) -> list[str]:
        """What could not be read, one sentence each; it may grow while lazy parts are read."""

    @property
    def pointer_size(self) -> int:
        """4 or 8 bytes."""

    @property
    def pointers_readable(self) -> bool:
        """Whether ``pointers`` can answer at all (byte order, tables that are there)."""

    @property
    def own_name(self) -> str | None:
        """The file name that a library gives itself (DT_SONAME, PE export directory)."""

    def data_spans(self) -> list[tuple[int, int]]:
        """(offset, size) of the stretches that hold plain data, where strings may lie."""

    def wrapper_search_spans(self) -> list[tuple[int, int]]:
        """(offset, size) to search where no wrapper section is named; empty: no use to search."""

    def pointers(self, slots: Collection[int]) -> Mapping[int, int | None]:
        """The address that each pointer at these file offsets holds once loaded.

        0 is a null pointer, None points outside of this file; a slot that is missing from the
        answer could not be resolved.
        """

    def offset_of(self, address: int) -> int | None:
        """File offset of the byte at an address, None where the file has none."""

    def needed(self) -> list[Needed]:
        """Libraries that the loader brings."""

    @property
    def runpath(self) -> tuple[str, ...]:
        """Folders that the loader looks into first, as written."""

    def symbols(self) -> Symbols:
        """The names that this project looks at."""

    def symbol_size(self, offset: int) -> int | None:
        """Size of the data symbol that starts exactly at this file offset."""

    def prelinked_count(self, array: int) -> int | None:
        """Number of regions that a version-2 wrapper's array (at this address) is made for."""
