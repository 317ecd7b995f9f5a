"""The values that all parts of the package share: images, modules, hosts, and what was skipped."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from typing import ClassVar, Self

from msgspec import Struct

from ltocompat.model.arch import ArchForm, Release, SmArch
from ltocompat.model.errors import UsageError
from ltocompat.model.location import Location
from ltocompat.model.row import WHERE, Tabular
from ltocompat.model.symbols import DeviceSymbols
from ltocompat.model.words import count

# A linked file keeps the regions of its relocatable objects here; PE images cut the name to 8
# characters.
PRELINKED_SECTIONS = frozenset({"__nv_relfatbin", "__nv_rel"})


class _OpenWords(enum.StrEnum):
    """Words to which later versions may add."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the member of a word; for an unknown word, ``unknown`` or the first member."""
        words = {str(word): word for word in cls}
        return words.get(text) or words.get("unknown") or next(iter(cls))


class PtxFlaw(_OpenWords):
    """A fault that makes compilers refuse a PTX text."""

    OTHER = "unknown"
    NARROW = "32-bit addresses"
    ADDRESS_SIZE = "an .address_size other than 32 and 64"
    NO_DEBUG_SECTIONS = ".target debug without debug sections"
    NOT_ASCII = "non-ASCII characters"
    NOT_ASCII_FILE = "non-ASCII names of source files"
    NOT_ASCII_COMMENT = "non-ASCII comments"
    LATE_DIRECTIVE = "a .target or .address_size after other directives"
    LOWER_TARGET = "a .target after a .target for a newer architecture"
    LAST_COMMENT = "a comment at its end without a line break"
    OPEN_COMMENT = "an unterminated comment"
    CUT = "an unfinished function or statement"


class ImageKind(_OpenWords):
    """A kind of device code."""

    LTOIR = "ltoir"
    PTX = "ptx"
    SASS = "sass"
    TILEIR = "tileir"
    UNKNOWN = "unknown"

    @property
    def arch_form(self) -> ArchForm:
        """The prefix of architecture names for images of this kind."""
        return _ARCH_FORMS.get(self, ArchForm.VIRTUAL)


_ARCH_FORMS = {ImageKind.SASS: ArchForm.REAL, ImageKind.LTOIR: ArchForm.LTO}

# The kinds that drivers load; their kernels have readable names, unlike kernels of LTO-IR.
KERNEL_KINDS = (ImageKind.SASS, ImageKind.PTX)


class Compression(_OpenWords):
    """The compression of a stored image."""

    NONE = "none"
    LZ4 = "lz4"
    ZSTD = "zstd"


# Suffixes of LLVM bitcode files, from which compilers make device code later.
BITCODE = ".bc"
# Suffixes of CUDA sources, which programs may compile when they run.
CUDA_SOURCES = (".cu", ".cuh")


class Role(_OpenWords):
    """The task of a tool that made an image."""

    COMPILER = "compiler"
    LINKER = "linker"
    FINALIZER = "finalizer"


class Producer(Struct, frozen=True):
    """One tool that made an image, and the bytes that prove that this tool made it.

    Attributes:
        role: the task of the tool.
        tool: the tool's name in the bytes (``ptxas``); None if the bytes don't contain a name.
        version: the most exact version that the bytes prove: ``13.0.88``, ``12.4``, ``newer than
            13.5``.
        releases: every CUDA release that can have made the image; empty if none is known.
        evidence: the source of the version, e.g. ``tkinfo note``.
    """

    role: Role
    tool: str | None
    version: str | None
    releases: tuple[Release, ...]
    evidence: str

    def __str__(self) -> str:
        if self.version:
            text = self.version
        elif self.releases:
            text = "{" + ", ".join(map(str, self.releases)) + "}"
        else:
            text = "unknown release"
        name = self.tool or (None if self.role is Role.COMPILER else str(self.role))
        return f"{name} {text}" if name else text


class Needs(Struct, frozen=True):
    """The versions that a tool must support to compile or link an image.

    Attributes:
        ptx_isa: PTX ISA version, e.g. ``8.4``.
        tile_ir: Tile IR bytecode version, e.g. ``13.5``.
    """

    ptx_isa: str | None = None
    tile_ir: str | None = None


class LtoIrVersions(Struct, frozen=True, repr_omit_defaults=True):
    """The versions of an LTO-IR image. If the image is scrambled, only ``container`` can be read.

    Attributes:
        container: version of the container, e.g. ``1.61``.
        nvvm_ir: version of the NVVM IR inside, e.g. ``2.71``; different in every CUDA release.
        llvm: version of LLVM that the IR follows, e.g. ``7.0``.
        debug: version of the debug metadata, e.g. ``3.2``.
    """

    container: str
    nvvm_ir: str | None = None
    llvm: str | None = None
    debug: str | None = None


class CubinFacts(Struct, frozen=True):
    """Facts that only cubins have.

    Attributes:
        generation: 1 for cubins with ELF ABI 7 (architectures up to sm_90a, toolkits up to 12.9). 2
            for cubins with ELF ABI 8 (architectures from sm_100 on, and all cubins of CUDA 13).
        virtual_arch: architecture of the PTX from which the cubin was assembled; None if not
            recorded.
    """

    generation: int
    virtual_arch: SmArch | None = None


class Image(Tabular, frozen=True):
    """One piece of device code.

    Attributes:
        place: its place; see ``Location``.
        kind: LTO-IR, PTX, SASS, Tile IR or unknown.
        stored_size: stored size in bytes, without padding; None if unknown (no length is recorded
            for bare LTO-IR inside other data).
        size: size in bytes after decoding; None if unknown.
        kind_number: the numeric code of the kind in the fatbin entry; None if the image is not in a
            fatbin.
        arch: architecture in the entry header. For SASS whose architecture has the suffix a, this
            is the architecture in the cubin itself. None if unknown.
        section: name of the host file's section that contains the image; None if no section
            contains it.
        made_by: the tools that made the image, in the order in which they ran; empty if unknown.
        needs: versions that a tool must support to compile or link the image.
        ltoir: versions of an LTO-IR image.
        cubin: facts of a SASS image.
        compression: the compression of the stored image.
        scrambled: True if the vendor scrambles the payload (LTO-IR in compressed fatbins).
        relocatable: True if the image must be device-linked before it can be loaded; None if
            unknown.
        debug: True if the image has device debug information; None if unknown.
        host_os: the host system in the fatbin entry: ``linux``, ``windows`` or ``mac``; None if the
            entry has none.
        options: compiler options stored with the image; None if there are none.
        lacks_options: True for PTX or LTO-IR if its fatbin entry has no field for options.
        identifier: name stored with the image (nvcc stores the source file's name); None if there
            is none.
        lists_family: for SASS of sm_100 and newer, True if the entry header lists other
            architectures of the family. None if the header has no field for them.
        entry_arch: architecture in the entry header of SASS, if it differs from ``arch``; else
            None. Drivers and linkers pick the image by this architecture.
        kernels: names of the image's kernels; None if not requested or not readable.
        empty_kernels: True if the image has kernels and each kernel only returns. A cubin's kernels
            are examined only if its module has a much larger cubin; otherwise, the value is False.
            The value is also False if kernels were not requested.
        symbols: the image's undefined symbols, and the symbols that it defines for other images.
            None if not requested or not readable.
        flaws: faults of the PTX text, if it is in a file of its own or has debug information.
        kernel_set: for SASS, a number that identifies its set of kernel names.
        sha256: SHA-256 of the decoded bytes, or of the stored bytes if the image is scrambled; None
            if not requested.
        problems: sentences about contradictions inside the image.
    """

    row_columns: ClassVar[str] = (
        f"{WHERE} section kind arch virtual_arch made_by "
        "ptx_isa=needs.ptx_isa tile_ir=needs.tile_ir ltoir_container=ltoir.container "
        "nvvm_ir=ltoir.nvvm_ir generation=cubin.generation compression scrambled "
        "stored_size size relocatable debug host_os options identifier kernels sha256 "
        "problems"
    )

    kind: ImageKind
    kind_number: int | None
    place: Location
    section: str | None = None
    arch: SmArch | None = None
    made_by: tuple[Producer, ...] = ()
    needs: Needs = Needs()
    ltoir: LtoIrVersions | None = None
    cubin: CubinFacts | None = None
    compression: Compression = Compression.NONE
    scrambled: bool = False
    stored_size: int | None = None
    size: int | None = None
    relocatable: bool | None = None
    debug: bool | None = None
    host_os: str | None = None
    options: str | None = None
    identifier: str | None = None
    kernels: tuple[str, ...] | None = None
    sha256: str | None = None
    problems: tuple[str, ...] = ()
    entry_arch: SmArch | None = None
    lacks_options: bool = False
    lists_family: bool | None = None
    empty_kernels: bool = False
    symbols: DeviceSymbols | None = None
    flaws: tuple[PtxFlaw, ...] = ()
    kernel_set: int = 0

    @property
    def virtual_arch(self) -> SmArch | None:
        """The virtual architecture for which the code was compiled, if it is recorded."""
        if self.kind in (ImageKind.PTX, ImageKind.TILEIR):
            return self.arch
        return self.cubin.virtual_arch if self.cubin else None

    @property
    def stored_as(self) -> str:
        """``none``, ``zstd``, ``scrambled zstd``."""
        plain = self.scrambled and self.compression is Compression.NONE
        words = ("scrambled" if self.scrambled else "", "" if plain else str(self.compression))
        return " ".join(filter(None, words))


class Module(Tabular, frozen=True):
    """A set of images. A driver or a linker picks, for each GPU, one image of the set.

    Attributes:
        place: the fatbin region, or the image itself if it is not in a fatbin.
        section: name of the host file's section that contains the module; None if no section
            contains it.
        registered: True if the CUDA runtime loads the module, because a wrapper points to the
            module; None if unknown.
        images: the images in file order; empty for an empty region. The sequence is a tuple if
            there are fewer than 1024 images.
        guarded: True if some images have kernels that contain code, but other images have no
            kernels, or only kernels that return at once. This is examined only if a driver picks an
            image without such code; otherwise, the value is False.
        uneven: True if the module's images may have different kernels.
    """

    row_columns: ClassVar[str] = f"{WHERE} section registered images=image_count"

    place: Location
    section: str | None
    registered: bool | None
    images: Sequence[Image]
    guarded: bool = False
    uneven: bool = False

    @property
    def image_count(self) -> int:
        """The number of images."""
        return len(self.images)


class Skipped(Tabular, frozen=True):
    """A place that was not read, with the reason.

    Attributes:
        place: the place that was not read.
        reason: one sentence.
        size: number of skipped bytes; None if the number is unknown.
        limit: name of the ``Limits`` field that was reached, else None.
    """

    row_columns: ClassVar[str] = f"{WHERE} reason size limit"

    place: Location
    reason: str
    size: int | None = None
    limit: str | None = None


class CudaLibrary(Struct, frozen=True):
    """A CUDA library that a host file (an object, library or program) contains or needs.

    Attributes:
        name: ``libcuda``, ``libcudart``, ``libnvrtc``, ``libnvJitLink``, ...
        how: ``needed`` (the loader loads it), ``opened`` (its file name is a string in the data) or
            ``static`` (the file contains a copy).
        file: the needed file name, e.g. ``libnvrtc.so.13``; None for a static copy.
        version: the version of a static copy, if the bytes of the copy prove the version; for
            ``libcudart``, only the major version: ``12``.
        evidence: the bytes that identify the library.
    """

    name: str
    how: str
    file: str | None
    version: str | None
    evidence: str

    def __str__(self) -> str:
        words = (self.name, self.how, self.file or self.version)
        return " ".join(word for word in words if word)


class PtxText(Struct, frozen=True):
    """PTX texts in the data of a file, all with the same version and target.

    Attributes:
        isa: the ISA version, such as ``7.0``.
        target: the target, such as ``sm_50``.
        offset: the byte offset of the first text.
        number: number of texts.
    """

    isa: str
    target: str
    offset: int
    number: int = 1

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a text in the form that ``str()`` writes.

        Raises:
            UsageError: the text does not have this form.
        """
        found = _PTX_TEXT.fullmatch(text)
        if found is None:
            raise UsageError(f"{text!r} describes no PTX texts; write {cls('7.0', 'sm_50', 64)}")
        return cls(found[2], found[3], int(found[4], 16), int(found[1].replace(",", "")))

    def __str__(self) -> str:
        texts = count(self.number, "text")
        return f"{texts} of PTX {self.isa} for {self.target}, the first at {self.offset:#x}"


_PTX_TEXT = re.compile(
    r"([0-9,]{1,20}) texts? of PTX ([0-9.]{3,9}) for (sm_\w{1,9}), the first at 0x([0-9a-f]{1,16})"
)


class HostBinary(Tabular, frozen=True, kw_only=True):
    """A host file (object, library, executable), and what its device link needs.

    Attributes:
        place: the file.
        format: ``ELF``, ``PE`` or ``COFF``; ``data`` for a file that only contains PTX text.
        machine: the CPU architecture: ``x86-64``, ``AArch64`` ...; the number in the file if the
            architecture is unknown.
        type: ``object``, ``executable``, ``shared library`` or ``unknown``.
        undefined_registrations: undefined symbols ``__cudaRegisterLinkedBinary_*`` and
            ``__fatbinwrap_*``.
        nvjitlink_imports: imported ``__nvJitLink*`` names, with their version suffixes.
        libraries: the CUDA libraries that the file needs, opens by name, or contains as a copy.
        soname: the file name that a library gives itself (DT_SONAME, export directory).
        needed: file names of all libraries that the loader loads with the file. Libraries that
            Windows loads only when a program first calls them (delay-loaded) are left out.
        runpath: elements of DT_RUNPATH, or of DT_RPATH if there is none, as written
            (``$ORIGIN/../lib``). An empty element stands for the current folder.
        debug_size: size in bytes of the debug sections of host code (``.debug_info`` ...).
        exports: the exported names; empty unless the file name contains a CUDA version. The list is
            incomplete if there are very many names.
        ptx_texts: PTX text in the data, which the library may pass to OptiX or a driver; ``str``
            gives ``2 texts of PTX 7.0 for sm_50, the first at 0x2040``.
        unversioned: symbols of glibc's librt that the file imports without a version and without
            loading librt.
    """

    row_columns: ClassVar[str] = (
        f"{WHERE} format machine type undefined_registrations nvjitlink_imports "
        "libraries soname needed runpath debug_size ptx_texts"
    )

    place: Location
    format: str
    machine: str
    type: str
    undefined_registrations: tuple[str, ...] = ()
    nvjitlink_imports: tuple[str, ...] = ()
    libraries: tuple[CudaLibrary, ...] = ()
    soname: str | None = None
    needed: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    debug_size: int = 0
    exports: tuple[str, ...] = ()
    ptx_texts: tuple[PtxText, ...] = ()
    unversioned: tuple[str, ...] = ()

    @property
    def linked(self) -> bool:
        """Return whether the file is linked (a library or executable), not an object."""
        return self.type in ("shared library", "executable")


class ImageLayer(Struct, frozen=True):
    """A layer of a container image.

    Attributes:
        place: the layer in its archive.
        history: the Dockerfile line that made the layer, such as ``RUN pip install torch``; empty
            if the image records no such line.
        size: size of the unpacked files in bytes.
        hidden: size in bytes of files that later layers replace or remove; the image still contains
            them.
        packages: the path of each file that may contain code, and its distribution, such as ``torch
            2.4.0 (pip)``.
        searched: folders in the image that are listed in the loader's settings.
        files: paths of the files in the layer that contain device code, and of all libraries and
            programs.
        stored: size in bytes of the device code in these files, if it was measured.
    """

    place: Location
    history: str
    size: int
    hidden: int
    packages: tuple[tuple[str, str], ...]
    searched: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    stored: int = 0


class Origin(Struct, frozen=True):
    """The package and the layer that a file in a container image comes from.

    Attributes:
        path: the path of the file in the image.
        distribution: the package that installed the file, such as ``torch 2.4.0 (pip)``; empty if
            no package installed the file.
        layer: the Dockerfile line that made the layer of the file, such as ``RUN pip install
            torch``; empty if unknown.
    """

    path: str
    distribution: str
    layer: str


class Artifact(Tabular, frozen=True):
    """A file that was read to its end; this record follows the records of the file's contents.

    Attributes:
        path: the path as the caller gave it (``-`` for standard input), or as found in a folder.
        size: size in bytes.
        modules: number of modules that were found.
        images: number of images that were found.
        skipped: number of places that were skipped.
        layers: the layers of a container image, the uppermost first.
    """

    row_columns: ClassVar[str] = "path size modules images skipped"

    path: str
    size: int
    modules: int
    images: int
    skipped: int
    layers: tuple[ImageLayer, ...] = ()


Record = Artifact | HostBinary | Module | Skipped
