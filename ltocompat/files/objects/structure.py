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


class Section(Struct, frozen=True):
    """One stretch of the file with a name.

    Attributes:
        name: as the section table gives it (PE: after the long-name table).
        offset: first byte in the file.
        size: bytes in the file, clipped to its end.
        address: where it is loaded; 0 in objects, based on the preferred image base in PE.
        executable: its bytes are instructions.
    """

    name: str
    offset: int
    size: int
    address: int
    executable: bool = False

    @property
    def end(self) -> int:
        """The offset behind the last byte."""
        return self.offset + self.size

    @property
    def fatbin(self) -> bool:
        """Return whether CUDA's compilers keep fatbin regions under this name."""
        return self.name in FATBIN_SECTIONS

    @property
    def wrapper(self) -> bool:
        """Return whether CUDA's compilers keep the wrappers of fatbin regions under this name."""
        return self.name in WRAPPER_SECTIONS

    @property
    def debug(self) -> bool:
        """Return whether a debugger alone reads it; ``strip --strip-debug`` takes it away."""
        return self.name.startswith((".debug_", ".zdebug_"))

    @property
    def prelinked(self) -> bool:
        """Return whether its regions are those of relocatable objects, for linking at load."""
        return self.name in PRELINKED_SECTIONS


def short_text(view: ByteView, offset: int, limit: int) -> str:
    """The NUL-terminated string at ``offset``, of at most ``limit`` bytes, cheap for short ones."""
    head = view.peek(offset, min(limit, _FIRST_PEEK))
    if b"\0" not in head:
        return view.text(offset, limit)
    return head.partition(b"\0")[0].decode("utf-8", "replace")


WINDOW = MIB


def windows(
    view: ByteView, budget: Budget, offset: int, size: int, *, row: int = 1, overlap: int = 0
) -> Iterator[tuple[int, bytes]]:
    """The bytes from ``offset`` on, as (position, piece) with ``overlap`` bytes seen twice.

    Args:
        view: the file.
        budget: its time is checked before each piece.
        offset: first byte.
        size: number of bytes; clipped to the end of the file, and to whole rows.
        row: bytes of one row of a table, of which each piece has whole ones.
        overlap: bytes of the next piece that each piece also has.
    """
    end = min(offset + size, view.size)
    end -= (end - offset) % row
    step = WINDOW - WINDOW % row
    for position in range(offset, end, step):
        budget.check_time()
        yield position, view.read(position, min(step + overlap, end - position))


def occurrences(
    view: ByteView, budget: Budget, offset: int, size: int, needle: bytes
) -> Iterator[int]:
    """Every position of ``needle`` in that stretch of the file, ascending."""
    overlap = len(needle) - 1
    for start, piece in windows(view, budget, offset, size, overlap=overlap):
        yield from (start + found for found in byteview.occurrences(needle, piece))


@contextmanager
def guarded(problems: list[str], what: str) -> Iterator[None]:
    """Collect any error as a problem with ``what``.

    What surrounds device code is hostile, too, and no mistake in reading it may cost the code.

    Raises:
        LimitExceeded: passed through; reading on would cost too much.
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
OF_LIBRT = re.compile(
    r"(?:aio_(?:cancel|error|fsync|read|return|suspend|write)|lio_listio)(?:64)?|aio_init"
    r"|mq_(?:close|getattr|notify|open|receive|send|setattr|timedreceive|timedsend|unlink)"
    r"|shm_(?:open|unlink)|timer_(?:create|delete|getoverrun|gettime|settime)"
)
"""Names that librt exported before glibc 2.34, and libc since (rt/Versions of 2.33)."""


DELAYED = "delay-load import table"
"""The evidence for a library that a PE image loads at its first call (delay load)."""


class Needed(Struct, frozen=True):
    """A library that the loader brings, by file name, and the table that says so."""

    file: str
    evidence: str


class Symbols(Struct, frozen=True):
    """Names around CUDA registration and nvJitLink that a host file leaves open or defines.

    Attributes:
        undefined_registrations: ``__cudaRegisterLinkedBinary_*`` and ``__fatbinwrap_*``, sorted.
        nvjitlink_imports: ``__nvJitLink*_M_m`` and ``nvJitLink*`` taken from elsewhere, sorted.
        nvjitlink_defined: the same kind of names, defined in this file.
        unversioned: names as librt has them, taken from elsewhere without a version.
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
    """A host file taken apart; ELF, PE and COFF each have their own reader.

    An *address* is whatever the pointers of the format hold: virtual addresses in linked files,
    file offsets in objects (nothing in an object has an address yet). Methods that a reader does
    not have answer for formats without such a table.

    Attributes:
        view: the file.
        budget: bounds for reading it.
        format: ``ELF``, ``PE`` or ``COFF``.
        machine: name of the processor.
        type: ``object``, ``executable``, ``shared library`` or ``unknown``.
        sections: stretches with bytes in the file, sorted by offset.
        problems: parts that could not be read, a sentence each; more may come with lazy parts.
        pointer_size: 4 or 8 bytes.
        pointers_readable: ``pointers`` can answer at all (byte order, tables that are there).
        own_name: the file name that a library gives itself (DT_SONAME, PE export directory).
        runpath: folders that the loader looks into first, as written.
        signed: it holds a signature of its own bytes (Authenticode).
        checksum_at: offset of a sum of all its bytes that is not zero (PE); None if none is.
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
        """(offset, size) of the stretches that hold plain data, where strings may lie."""

    def wrapper_search_spans(self) -> list[tuple[int, int]]:
        """(offset, size) to search where no wrapper section is named; empty: no use to search."""
        return []

    @abstractmethod
    def pointers(self, slots: Collection[int]) -> Mapping[int, int | None]:
        """The address that each pointer at these file offsets holds once loaded.

        0 is a null pointer, None points outside of this file; a slot that is missing from the
        answer could not be resolved.
        """

    @abstractmethod
    def offset_of(self, address: int) -> int | None:
        """File offset of the byte at an address, None if the file has none."""

    def needed(self) -> list[Needed]:
        """Libraries that the loader brings."""
        return []

    @abstractmethod
    def symbols(self) -> Symbols:
        """The names that this project looks at."""

    def exports(self) -> list[str]:
        """Names that a linked file has for others; of very many not all."""
        return []

    def symbol_size(self, offset: int) -> int | None:  # noqa: ARG002 - ELF alone keeps sizes
        """Size of the data symbol that starts exactly at this file offset."""
        return None

    def prelinked_count(self, array: int) -> int | None:  # noqa: ARG002 - ELF alone keeps sizes
        """Number of regions that a version-2 wrapper's array (at this address) is made for."""
        return None
