"""`ltocompat/inspect/v1`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ltocompat.model import image
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    ArchText,
    Count,
    Document,
    PlaceText,
    Record,
    ReleaseText,
    RunSummary,
    Skipped,
    one_of,
    published,
    published_unchanged,
)
from ltocompat.model.symbols import DeviceSymbols


@published(image.Producer)
class Maker(Record):
    """A tool that made an image, and the bytes that prove that this tool made it."""

    releases: tuple[ReleaseText, ...]


published_unchanged(image.Needs)


@published(image.LtoIrVersions)
class Ltoir(Record):
    """Versions of LTO-IR."""

    debug: str | None = None


@published(image.CubinFacts)
class Cubin(Record):
    """Properties of SASS."""

    generation: int


@published(DeviceSymbols)
class Symbols(Record):
    """The symbols through which images are linked together.

    Attributes:
        needed_by_kernels: The undefined functions that a kernel of the image reaches.
        prototypes: Functions; the types of each result and of the parameters are in the encoding of
            the cubin, such as "#vil".
    """

    prototypes: tuple[tuple[str, str], ...] = ()


@published(image.Image, "kernel_set")
class Image(Record):
    """One piece of device code. A value is null if the fact is absent or not known.

    Attributes:
        stored_size: Stored size in bytes, without padding; null if no length is recorded.
        size: Size in bytes after decoding.
        kernels: Names of kernels; null if not requested or not readable.
        entry_arch: The architecture of the fatbin entry, if it differs from the architecture of the
            SASS; else null.
        lacks_options: True if the fatbin entry of PTX or LTO-IR has no field for options.
        lists_family: True if the fatbin entry of SASS lists other architectures of its family; null
            if the entry has no field for them.
        empty_kernels: True if each kernel only returns; false if kernels were not requested.
        symbols: Symbols; null if kernels were not requested, or if the symbols can't be read.
        flaws: Faults that make compilers refuse a PTX text.
    """

    arch: ArchText | None
    virtual_arch: ArchText | None
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")] | None
    # Older inspections that were saved have none of these, nor of those that come behind.
    entry_arch: ArchText | None = None
    flaws: tuple[str, ...] = ()


@published(image.Module)
class Module(Record):
    """A set of images. A driver or a linker picks, for each GPU, one image of the set.

    Attributes:
        registered: True if the CUDA runtime loads the module; null if unknown.
        guarded: True if some images have kernels that contain code, but other images have no
            kernels, or only kernels that return at once.
        uneven: True if the images may have different kernels.
    """

    guarded: bool = False  # older inspections have neither this nor the next


@published(image.CudaLibrary)
class Library(Record):
    """A CUDA library that a host file (an object, library or program) contains or needs."""

    how: Annotated[str, one_of("needed", "opened", "static")]


@published(image.HostBinary, "place", "runpath", "debug_size", "unversioned")
class Host(Record):
    """A host file, with the requirements of its device link.

    Attributes:
        soname: The library's own name: DT_SONAME, or the name in the export directory of a DLL.
        needed: File names of all libraries that the loader loads together with this file.
        exports: The exported names; empty unless the file name contains a CUDA version.
        ptx_texts: PTX text in the data of the file; ltocompat does not check it.
    """

    soname: str | None = None  # older inspections lack it, and what follows it


class Member(Host):
    """A host file inside an archive."""

    place: PlaceText = ""  # always written; behind a member that older inspections lack


class Artifact(Record):
    """A file that contains device code or that the user named.

    Attributes:
        host: The libraries and symbols that the file needs, if it is a library, program or object.
            null if the file needs nothing.
        members: The libraries and symbols that the host files inside an archive or package need.
        size: Size in bytes of the file; null if reading stopped early.
        complete: True if the file was read to its end.
    """

    path: str
    modules: tuple[Module, ...]
    skipped: tuple[Skipped, ...]
    skipped_left_out: Annotated[Count, From("skipped.left_out")]
    host: Host | None
    members: tuple[Member, ...]
    members_left_out: Annotated[Count, From("members.left_out")]
    size: Count | None
    complete: bool


class Kinds(Record):
    """The number of images of each kind."""

    ltoir: Count
    ptx: Count
    sass: Count
    tileir: Count
    unknown: Count


class Summary(RunSummary):
    """Numbers for all files together.

    Attributes:
        stored_size: Size in bytes of all images, as far as known.
    """

    artifacts: Count
    files_without_device_code: Count
    files_without_match: Count
    modules: Count
    images: Count
    skipped: Count
    kinds: Kinds
    stored_size: Count


class Inspect(Document, tag="ltocompat/inspect/v1"):
    """Every device image in the files that were read. Members may be added before 1.0."""

    artifacts: tuple[Artifact, ...]
    summary: Summary
