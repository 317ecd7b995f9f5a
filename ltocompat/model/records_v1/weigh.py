"""`ltocompat/weigh/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    ArchText,
    Count,
    Document,
    Failure,
    PlaceText,
    Record,
    described,
    one_of,
)


class Arch(Record):
    """The images of one kind for one architecture."""

    kind: Annotated[str, one_of("ltoir", "ptx", "sass", "tileir", "unknown")]
    arch: ArchText | None
    images: Count
    stored_size: Annotated[
        Count, From("stored"), described("Bytes in the files, without headers and padding.")
    ]


class Library(Record):
    """The device code of one library, or of all objects of an archive."""

    place: PlaceText
    machine: str | None
    modules: Count
    images: Count
    stored_size: Annotated[
        Count, From("stored"), described("Bytes in the file, headers and padding included.")
    ]
    saved: Annotated[Count, described("Bytes of these that could be saved.")]
    host_debug_size: Annotated[
        Count, From("host_debug"), described("Bytes of debug sections of its host code.")
    ]


class Saving(Record):
    """Bytes that could be saved for one reason; no byte is in two of them."""

    waste: Annotated[
        str,
        one_of(
            "copy-in-another-library",
            "copy-in-the-library",
            "other-cpu",
            "never-taken",
            "prelinked",
            "compression",
            "host-debug",
        ),
    ]
    saved: Count
    images: Count
    estimated: Annotated[
        bool, described("A part of it was not compressed to see; else it is measured.")
    ]
    what: str
    fix: str


class Kernel(Record):
    """The kernels of one name."""

    name: str
    demangled: Annotated[str | None, described("Null without ltocompat[demangle].")]
    code_size: Annotated[
        Count, From("code"), described("Bytes of SASS, once unpacked, in all cubins.")
    ]
    count: Annotated[Count, described("Cubins that have it.")]


class Artifact(Record):
    """What the device code of one path weighs."""

    path: str
    size: Annotated[Count, described("Bytes of the file, or of all files of a folder.")]
    files: Count
    stored_size: Annotated[
        Count,
        From("stored"),
        described("Bytes of all device code: those of archs, and overhead_size."),
    ]
    overhead_size: Annotated[
        Count, From("overhead"), described("Bytes of fatbin headers and padding.")
    ]
    archs: tuple[Arch, ...]
    libraries: tuple[Library, ...]
    saved: Annotated[Count, described("Bytes that all savings together are.")]
    savings: tuple[Saving, ...]
    kernels: Annotated[tuple[Kernel, ...], described("Empty unless asked for.")]
    kernels_left_out: Count
    unsized_images: Annotated[
        Count,
        From("unsized"),
        described("Images that nothing records the end of; they count for no bytes."),
    ]
    skipped: Annotated[Count, described("Places that could not be read.")]


class Summary(Record):
    """Sums over all paths."""

    artifacts: Count
    stored_size: Count
    saved: Count
    errors: tuple[Failure, ...]


class Weigh(Document, tag="ltocompat/weigh/v1"):
    """What device code weighs, and what could be saved. Members may be added before 1.0."""

    artifacts: tuple[Artifact, ...]
    summary: Summary
