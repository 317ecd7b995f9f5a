"""Common parts of the readers of host formats: interface, values, reading in pieces."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

from msgspec import Struct

from ltocompat.files import byteview
from ltocompat.files.byteview import ByteView
from ltocompat.model.errors import LimitExceeded, LtocompatError, UnreadableInput
from ltocompat.model.image import PRELINKED_SECTIONS
from ltocompat.model.limits import MIB, Budget

# Names under which fatbin regions are kept; COFF and ELF have the full ones, PE images cut them to
# 8 characters.
FATBIN_SECTIONS = PRELINKED_SECTIONS | {".nv_fatbin", ".nv_fatb"}
WRAPPER_SECTIONS = frozenset({".nvFatBinSegment", ".nvFatBinSegmentAlt", ".nvFatBi"})

# Most names are short: one small read serves, and a longer one is read again.
_FIRST_PEEK = 256
_SHOWN = 80  # characters of a name


class Section(Struct, frozen=True):
    """One named range of the file.

    Attributes:
        name: its name in the section table (PE: after the long-name table).
        offset: first byte in the file.
        size: bytes in the file, clipped to its end.
        address: its load address; 0 in objects, based on the preferred image base in PE.
        executable: True if its bytes are instructions.
    """

    name: str
    offset: int
    size: int
    address: int
    executable: bool = False

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        return self.offset + self.size

    @property
    def fatbin(self) -> bool:
        """Return whether CUDA's compilers use this name for fatbin regions."""
        return self.name in FATBIN_SECTIONS

    @property
    def debug(self) -> bool:
        """Return whether only debuggers read it; ``strip --strip-debug`` removes it."""
        return self.name.startswith((".debug_", ".zdebug_"))

    @property
    def prelinked(self) -> bool:
        """Return whether its regions are from relocatable objects, for linking at load."""
        return self.name in PRELINKED_SECTIONS


def clipped(view: ByteView, name: str, offset: int, size: int, problems: list[str]) -> int:
    """Return how many bytes of a section are in the file; tell of one that reaches outside."""
    inside = max(0, min(size, view.size - offset))
    if inside < size:
        problems.append(
            f"section {name[:_SHOWN]!r} of {size} bytes at {offset:#x} reaches outside of the "
            f"{view.size} bytes of the file"
        )
    return inside


def in_file_order(sections: Iterable[Section]) -> tuple[Section, ...]:
    """Return sections by offset, shorter ones first."""
    return tuple(sorted(sections, key=lambda section: (section.offset, section.size)))


def short_text(view: ByteView, offset: int, limit: int) -> str:
    """Return the NUL-terminated string of at most ``limit`` bytes at ``offset``."""
    head = view.peek(offset, min(limit, _FIRST_PEEK))
    if b"\0" not in head:
        return view.text(offset, limit)
    return head.partition(b"\0")[0].decode("utf-8", "replace")


WINDOW = MIB


def windows(
    view: ByteView, budget: Budget, offset: int, size: int, *, row: int = 1, overlap: int = 0
) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes from ``offset`` on as (position, piece), with ``overlap`` repeated bytes.

    Args:
        view: the file.
        budget: its time is checked before each piece.
        offset: first byte.
        size: number of bytes; clipped to the end of the file, and to whole rows.
        row: bytes of one row of a table; each piece has whole rows.
        overlap: bytes of the next piece that each piece also has.
    """
    end = min(offset + size, view.size)
    end -= (end - offset) % row
    step = WINDOW - WINDOW % row
    for position in range(offset, end, step):
        budget.check_time()
        yield position, view.read(position, min(step + overlap, end - position))


class ElfTable(Struct, frozen=True):
    """One table of an ELF file.

    Attributes:
        view: the file.
        budget: bounds for reading it.
        bits: 32 or 64.
        offset: first byte in the file.
        size: bytes.
    """

    view: ByteView
    budget: Budget
    bits: int
    offset: int
    size: int


def occurrences(
    view: ByteView, budget: Budget, offset: int, size: int, needle: bytes
) -> Iterator[int]:
    """Yield every position of ``needle`` in a range of the file, ascending."""
    overlap = len(needle) - 1
    for start, piece in windows(view, budget, offset, size, overlap=overlap):
        yield from (start + found for found in byteview.occurrences(needle, piece))


@contextmanager
def guarded(problems: list[str], what: str) -> Iterator[None]:
    """Collect any error as a problem with ``what``.

    The bytes around device code may be hostile, too; an error in them must not lose the code.

    Raises:
        LimitExceeded: passed through; reading would cost too much.
        UnreadableInput: passed through; the file itself cannot be read.
    """
    try:
        yield
    except (LimitExceeded, UnreadableInput):
        raise
    except LtocompatError as error:
        problems.append(f"{what} cannot be read: {error}")
    except Exception as error:  # noqa: BLE001 - see above
        problems.append(f"{what} cannot be read: {error or type(error).__name__}")


# What nvcc's objects leave to the device link, and nvJitLink's interface. Its header renames every
# function to __nvJitLinkCreate_12_4 and so on; programs that load it by hand use the plain names.
REGISTRATION_PREFIXES = ("__cudaRegisterLinkedBinary_", "__fatbinwrap_")
NVJITLINK_PREFIXES = ("__nvJitLink", "nvJitLink")
SYMBOL_PREFIXES = tuple(name.encode() for name in REGISTRATION_PREFIXES + NVJITLINK_PREFIXES)

LIBRT = "librt.so.1"
LIBRT_PREFIXES = (b"aio_", b"lio_listio", b"mq_", b"shm_", b"timer_")
# Names that librt exported before glibc 2.34, and libc since (rt/Versions of 2.33).
OF_LIBRT = re.compile(
    r"(?:aio_(?:cancel|error|fsync|read|return|suspend|write)|lio_listio)(?:64)?|aio_init"
    r"|mq_(?:close|getattr|notify|open|receive|send|setattr|timedreceive|timedsend|unlink)"
    r"|shm_(?:open|unlink)|timer_(?:create|delete|getoverrun|gettime|settime)"
)


# The evidence for a library that a PE image loads at its first call (delay load).
DELAYED = "delay-load import table"


class Needed(Struct, frozen=True):
    """A library that the loader loads, by file name, and the table that names it."""

    file: str
    evidence: str


class Symbols(Struct, frozen=True):
    """Names for CUDA registration and nvJitLink that a host file imports or defines.

    Attributes:
        undefined_registrations: ``__cudaRegisterLinkedBinary_*`` and ``__fatbinwrap_*``, sorted.
        nvjitlink_imports: ``__nvJitLink*_M_m`` and ``nvJitLink*`` imported, sorted.
        nvjitlink_defined: such names that this file defines.
        unversioned: names of librt, imported without a version.
    """

    undefined_registrations: tuple[str, ...] = ()
    nvjitlink_imports: tuple[str, ...] = ()
    nvjitlink_defined: tuple[str, ...] = ()
    unversioned: tuple[str, ...] = ()

    @classmethod
    def sorted_from(
        cls, undefined: Iterable[str], defined: Iterable[str], unversioned: Iterable[str] = ()
    ) -> Symbols:
        """Sort names of undefined and defined symbols into their kinds; others are left out."""
        open_names = sorted(undefined)
        return cls(
            tuple(name for name in open_names if name.startswith(REGISTRATION_PREFIXES)),
            tuple(name for name in open_names if name.startswith(NVJITLINK_PREFIXES)),
            tuple(name for name in sorted(defined) if name.startswith(NVJITLINK_PREFIXES)),
            tuple(sorted(unversioned)),
        )


class ObjectReader(ABC):
    """The structure of a host file; ELF, PE and COFF have separate readers.

    An *address* is the value of the format's pointers: virtual addresses in linked files, file
    offsets in objects (which have no addresses yet). Methods that a reader does not override answer
    for formats without such a table.

    Attributes:
        view: the file.
        budget: bounds for reading it.
        format: ``ELF``, ``PE`` or ``COFF``.
        machine: name of the processor.
        type: ``object``, ``executable``, ``shared library`` or ``unknown``.
        sections: ranges with bytes in the file, sorted by offset.
        problems: unreadable parts, one sentence each; lazily read parts may add more.
        pointer_size: 4 or 8 bytes.
        pointers_readable: True if ``pointers`` works (byte order, existing tables).
        own_name: the file name that a library gives itself (DT_SONAME, PE export directory).
        runpath: folders that the loader searches first, as written.
        signed: True if it has a signature of its own bytes (Authenticode).
        checksum_at: offset of a checksum of all its bytes that is not zero (PE); None without one.
    """

    format: ClassVar[str]
    machine: str
    type: str
    sections: tuple[Section, ...]
    pointer_size: int
    pointers_readable: bool
    own_name: str | None = None
    runpath: tuple[str, ...] = ()
    signed: bool = False
    checksum_at: int | None = None

    def __init__(self, view: ByteView, budget: Budget) -> None:
        self.view = view
        self.budget = budget
        self.problems: list[str] = []

    @abstractmethod
    def data_spans(self) -> list[tuple[int, int]]:
        """Return (offset, size) of ranges with plain data, where strings may be."""

    def wrapper_search_spans(self) -> list[tuple[int, int]]:
        """Return (offset, size) to search without a wrapper section; empty: nothing to search."""
        return []

    @abstractmethod
    def pointers(self, slots: Collection[int]) -> Mapping[int, int | None]:
        """Return the address in each pointer at these file offsets after loading.

        0 is a null pointer, None points outside of this file; unresolved slots are left out.
        """

    @abstractmethod
    def offset_of(self, address: int) -> int | None:
        """Return the file offset of the byte at an address; None if the file has none."""

    def needed(self) -> list[Needed]:
        """Return the libraries that the loader loads."""
        return []

    @abstractmethod
    def symbols(self) -> Symbols:
        """Return the names that this project uses."""

    def exports(self) -> list[str]:
        """Return exported names of a linked file; not all if there are very many."""
        return []

    def symbol_size(self, offset: int) -> int | None:  # noqa: ARG002 - ELF alone keeps sizes
        """Return the size of the data symbol that starts exactly at this file offset."""
        return None

    def prelinked_count(self, array: int) -> int | None:  # noqa: ARG002 - ELF alone keeps sizes
        """Return the number of regions in a version-2 wrapper's array at this address."""
        return None
