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
    """A reason why bytes could be saved; each byte is counted under the first reason that applies.

    A copy has the same bytes as an earlier image. An image is for another CPU if all GPUs that
    use it need a CPU of another architecture than the library's. An image is unused if no known
    GPU uses it.
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
        images: number of images.
        stored: bytes of the images in the file, without headers and padding.
        unsized: number of images of unknown length, which are not counted in bytes.
        copied_within: stored bytes that are copies of images of the same library.
        copied_between: stored bytes that are copies of images of another library.
        packable: stored bytes of the other images that are not Zstandard and were compressed as a
            measurement.
        packed: their bytes as Zstandard.
        unmeasured: stored bytes that are not Zstandard and were not compressed, to save time.
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
        machine: its CPU, as ``HostBinary`` says it; None if no host file is around the code.
        linked: True for a linked file (library or executable).
        modules: number of modules.
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
    """The code of all kernels of one name: bytes of unpacked SASS, and number of cubins."""

    code: int = 0
    count: int = 0


class Measured(Struct):
    """The sizes found at one path; more may be added.

    Attributes:
        libraries: by their places, in the order of reading.
        copies: (library with the first copy, library with a later copy) -> bytes.
        kernels: by their names in the cubins; empty unless requested.
        kernels_left_out: number of kernels that are not listed, because of too many names or
            unreadable cubins.
        skipped: number of places that could not be read.
        size: bytes of the files that were read.
        files: number of files that were read.
        layers: the layers of a container image, the uppermost first.
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
        kind: the kind of the images.
        arch: the architecture of the images; None if unknown.
        images: number of images.
        stored: size of the images in bytes, without headers and padding.
    """

    kind: ImageKind
    arch: SmArch | None
    images: int
    stored: int


class LibraryWeight(Tabular, frozen=True):
    """The device code of one library, or of all objects of an archive.

    Attributes:
        place: the library.
        machine: the CPU of the library; None if the code is not in a host file.
        modules: number of modules.
        images: number of images.
        stored: size of the images in bytes, including headers and padding.
        saved: number of bytes that could be saved.
        host_debug: size in bytes of the debug sections of host code, which ``stored`` does not
            include.
    """

    place: Location
    machine: str | None
    modules: int
    images: int
    stored: int
    saved: int
    host_debug: int


class KernelWeight(Struct, frozen=True):
    """The kernels that have the same name.

    Attributes:
        name: the name in the cubins.
        demangled: the C++ name; None if ``ltocompat[demangle]`` isn't installed, or if the C++ name
            equals ``name``.
        code: size in bytes of the kernel's unpacked SASS in all cubins.
        count: number of cubins with the kernel.
    """

    name: str
    demangled: str | None
    code: int
    count: int


class Saving(Tabular, frozen=True):
    """Bytes that could be saved, all for one reason. This is advice, never a fault.

    Attributes:
        waste: the reason.
        saved: number of bytes.
        images: number of images; 0 for bytes that are not images.
        estimated: True if a part was not compressed for the measurement; the estimate assumes that
            this part compresses like the others.
        what: a sentence about these bytes.
        fix: the fix.
    """

    waste: Waste
    saved: int
    images: int
    estimated: bool
    what: str
    fix: str


class Weight(Struct, frozen=True):
    """The sizes in bytes of the device code at one path, after packages are unpacked.

    Attributes:
        path: the path.
        size: size in bytes of the file, or of all files of a folder.
        files: number of files that were read.
        archs: sizes of the images by architecture and kind; ``stored`` is their sum plus
            ``overhead``.
        overhead: size in bytes of fatbin headers and padding.
        stored: size in bytes of all device code.
        libraries: the libraries, the largest first.
        savings: the savings, the largest first; no byte is counted twice.
        slim_saved: number of bytes that ``slim`` would remove if it kept only the given GPUs. None
            if no GPUs are given, or if ``slim`` does not write this kind of file.
        kernels: the kernels, the largest first; empty if not requested.
        kernels_left_out: number of kernels that are not listed, because of too many names or
            unreadable cubins.
        unsized: number of images of unknown length, which are not counted in bytes.
        skipped: number of places that could not be read.
        layers: the layers of a container image, the lowest first.
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
        """The sum of all savings in bytes."""
        return sum(saving.saved for saving in self.savings)
