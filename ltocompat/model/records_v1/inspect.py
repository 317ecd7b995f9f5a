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
    Failure,
    PlaceText,
    Record,
    ReleaseText,
    Skipped,
    one_of,
    published,
)
from ltocompat.model.symbols import DeviceSymbols


@published(image.Producer)
class Maker(Record):
    """A tool that made an image, and the bytes that say so."""

    releases: tuple[ReleaseText, ...]


@published(image.Needs)
class Needs(Record):
    """Versions that whoever compiles it further must understand."""


@published(image.LtoIrVersions)
class Ltoir(Record):
    """Versions of LTO-IR."""

    debug: str | None = None


@published(image.CubinFacts)
class Cubin(Record):
    """Facts of SASS."""

    generation: int


@published(DeviceSymbols)
class Symbols(Record):
    """Names by which an image is linked with others.

    Attributes:
        needed_by_kernels: Those of the undefined functions that a kernel of it reaches.
        prototypes: Functions, and what assemblers note of their parameters: ``#vil``.
    """

    prototypes: tuple[tuple[str, str], ...] = ()


@published(image.Image)
class Image(Record):
    """One piece of device code; null means that a fact is absent or not known.

    Attributes:
        stored_size: Bytes in the file, without padding; null where nothing records the end.
        size: Bytes once decoded.
        kernels: Null unless asked for, or where they can't be read.
        entry_arch: The fatbin entry's, where SASS is for another; else null.
        lacks_options: The fatbin entry of PTX or LTO-IR has no place for options.
        lists_family: The entry of SASS lists architectures of its family; null where it has no
            place for them.
        empty_kernels: Each of its kernels only returns; false unless kernels were asked for.
        symbols: Null unless kernels were asked for, or where they can't be read.
        flaws: For which compilers refuse a PTX text, whatever its instructions are.
    """

    arch: ArchText | None
    virtual_arch: ArchText | None
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")] | None
    # Older inspections that were saved have none of these, nor of those that come behind.
    entry_arch: ArchText | None = None
    flaws: tuple[str, ...] = ()


@published(image.Module, "guarded")
class Module(Record):
    """Images of which a driver or a linker picks one for a GPU.

    Attributes:
        registered: The CUDA runtime loads it; null when not known.
    """


@published(image.CudaLibrary)
class Library(Record):
    """A CUDA library that a host file brings or asks for."""

    how: Annotated[str, one_of("needed", "opened", "static")]


@published(
    image.HostBinary, "place", "soname", "needed", "runpath", "debug_size", "exports", "unversioned"
)
class Host(Record):
    """A host file and what its linker needs.

    Attributes:
        ptx_texts: PTX that lies as text in its data, which is not checked.
    """

    ptx_texts: tuple[str, ...] = ()


class Member(Host):
    """A host file inside an archive."""

    place: PlaceText = ""  # always written; behind a member that older inspections lack


class Artifact(Record):
    """A file that holds device code or was named.

    Attributes:
        host: The file itself; null when it is not a host file.
        members: Members of an archive whose linker needs something.
        size: Bytes; null when reading broke off.
        complete: Whether it was read to its end.
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
    """Images of each kind."""

    ltoir: Count
    ptx: Count
    sass: Count
    tileir: Count
    unknown: Count


class Summary(Record):
    """Counts over all files.

    Attributes:
        stored_size: Bytes of all images, as far as known.
    """

    artifacts: Count
    files_without_device_code: Count
    files_without_match: Count
    modules: Count
    images: Count
    skipped: Count
    kinds: Kinds
    stored_size: Count
    errors: tuple[Failure, ...]


class Inspect(Document, tag="ltocompat/inspect/v1"):
    """Every device image in the files that were read. Members may be added before 1.0."""

    artifacts: tuple[Artifact, ...]
    summary: Summary
