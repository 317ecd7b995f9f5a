"""Sizes of device code by architecture, kind and library, and the bytes that could be saved.

``Measured`` is what a scan leaves of a package however many images it has, ``Weight`` the answer.
"""

from __future__ import annotations

import enum

from msgspec import Struct, field

from ltocompat.model.arch import SmArch
from ltocompat.model.image import ImageKind, ImageLayer
from ltocompat.model.location import Location
from ltocompat.model.row import Tabular
from ltocompat.model.signature import ModuleSignature


class Waste(enum.StrEnum):
    """A reason to save bytes; each byte counts for the first of these that it falls under.

    A copy has the bytes of an image that was met before. An image for another CPU is taken by no
    GPU that its library's CPU can have beside it; one that is never taken, by no known GPU.
    """

    COPY_IN_ANOTHER_LIBRARY = "copy-in-another-library"
    COPY_IN_THE_LIBRARY = "copy-in-the-library"
    OTHER_CPU = "other-cpu"
    NEVER_TAKEN = "never-taken"
    PRELINKED = "prelinked"
    COMPRESSION = "compression"
    HOST_DEBUG = "host-debug"


class ImageTally(Struct):
    """Images of one shape, added up.

    Attributes:
        images: how many.
        stored: bytes that they take in the file, without headers and padding.
        unsized: how many of them nothing records the end of; they count for nothing.
        copied_within: how many of the stored bytes are copies of images of the same library.
        copied_between: the same of another library.
        packable: stored bytes of the others that are not Zstandard, and were compressed to see.
        packed: what those take as Zstandard.
        unmeasured: stored bytes that are not Zstandard and were not compressed, for time's sake.
    """

    images: int = 0
    stored: int = 0
    unsized: int = 0
    copied_within: int = 0
    copied_between: int = 0
    packable: int = 0
    packed: int = 0
    unmeasured: int = 0


class MeasuredLibrary(Struct):
    """The device code of one library, or of all objects of an archive.

    Attributes:
        place: the library.
        machine: its CPU, as ``HostBinary`` says it; None where no host file is around the code.
        linked: a linker is done with it.
        modules: how many.
        overhead: bytes of fatbin regions that belong to no image: headers and padding.
        host_debug: bytes of its sections for a debugger of host code.
        tallies: a module without makers and sizes -> one tally for each of its images.
    """

    place: Location
    machine: str | None = None
    linked: bool = False
    modules: int = 0
    overhead: int = 0
    host_debug: int = 0
    tallies: dict[ModuleSignature, tuple[ImageTally, ...]] = field(default_factory=dict)


class KernelTally(Struct):
    """The code of all kernels of one name: bytes of SASS once unpacked, and how many there are."""

    code: int = 0
    count: int = 0


class Measured(Struct):
    """The sizes found at one path, which may still be added to.

    Attributes:
        libraries: by their places, in the order they were met.
        copies: (library that had it first, library that has it again) -> bytes.
        kernels: by their names as the cubins have them; empty unless asked for.
        kernels_left_out: kernels that were beyond the bound on names, or could not be read.
        skipped: places that could not be read.
        size: bytes of the files that were read.
        files: how many.
        layers: of a container image, the uppermost first.
    """

    libraries: dict[Location, MeasuredLibrary] = field(default_factory=dict)
    copies: dict[tuple[Location, Location], int] = field(default_factory=dict)
    kernels: dict[str, KernelTally] = field(default_factory=dict)
    kernels_left_out: int = 0
    skipped: int = 0
    size: int = 0
    files: int = 0
    layers: tuple[ImageLayer, ...] = ()


class ArchWeight(Tabular, frozen=True):
    """The images of one kind for one architecture.

    Attributes:
        kind: their kind.
        arch: their architecture, None where it is not known.
        images: how many.
        stored: bytes that they take, without headers and padding.
    """

    kind: ImageKind
    arch: SmArch | None
    images: int
    stored: int


class LibraryWeight(Tabular, frozen=True):
    """The device code of one library, or of all objects of an archive.

    Attributes:
        place: the library.
        machine: its CPU, None where no host file is around the code.
        modules: how many.
        images: how many.
        stored: bytes that they take, headers and padding included.
        saved: bytes of these that could be saved.
        host_debug: bytes of its sections for a debugger of host code; not among ``stored``.
    """

    place: Location
    machine: str | None
    modules: int
    images: int
    stored: int
    saved: int
    host_debug: int


class KernelWeight(Struct, frozen=True):
    """The kernels of one name.

    Attributes:
        name: as the cubins have it.
        demangled: as C++ says it; None where that needs ``ltocompat[demangle]``, or is the same.
        code: bytes of SASS, once unpacked, in all cubins.
        count: cubins that have it.
    """

    name: str
    demangled: str | None
    code: int
    count: int


class Saving(Tabular, frozen=True):
    """Bytes that could be saved, for one reason; advice, never a fault.

    Attributes:
        waste: the reason.
        saved: bytes.
        images: how many images it is about; 0 for what is no image.
        estimated: a part of it was not compressed to see, but taken to pack as the rest does.
        what: one sentence, with what it is about.
        fix: what to do.
    """

    waste: Waste
    saved: int
    images: int
    estimated: bool
    what: str
    fix: str


class Weight(Struct, frozen=True):
    """The sizes of the device code at one path: those of unpacked files, in bytes.

    Attributes:
        path: the path.
        size: bytes of the file, or of all files of a folder.
        files: how many files were read.
        archs: its images by architecture and kind; with ``overhead`` they make ``stored``.
        overhead: bytes of fatbin headers and padding.
        stored: bytes that all device code takes.
        libraries: the heaviest first.
        savings: the largest first; no byte is in two of them.
        slim_saved: bytes that ``slim`` takes out where only the GPUs in question are kept; None
            where none are, and of what ``slim`` does not write.
        kernels: the largest first; empty unless asked for.
        kernels_left_out: kernels that are not among them: too many names, or unreadable cubins.
        unsized: images that nothing records the end of, and that count for nothing.
        skipped: places that could not be read.
        layers: of a container image, the lowest first.
    """

    path: str
    size: int
    files: int
    stored: int
    overhead: int
    archs: tuple[ArchWeight, ...]
    libraries: tuple[LibraryWeight, ...]
    savings: tuple[Saving, ...]
    slim_saved: int | None
    kernels: tuple[KernelWeight, ...]
    kernels_left_out: int
    unsized: int
    skipped: int
    layers: tuple[ImageLayer, ...] = ()

    @property
    def saved(self) -> int:
        """Bytes that all savings together are."""
        return sum(saving.saved for saving in self.savings)
