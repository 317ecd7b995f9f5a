"""`ltocompat/diff/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Count,
    Document,
    Failure,
    PlaceText,
    Record,
    described,
    one_of,
)


class LinkerFloor(Record):
    """The least nvJitLink that links all of it."""

    possible: str
    sure: str | None
    exact: bool
    ceiling: Count


class Metadata(Record):
    """What the package says of itself."""

    name: str
    version: str
    requires: tuple[str, ...]
    tags: tuple[str, ...]


class Side(Record):
    """One of the two."""

    path: str
    saved: Annotated[bool, described("It was read from the JSON of an earlier inspection.")]
    size: Annotated[Count | None, described("Bytes of all files; null when not known.")]
    files: Count
    modules: Count
    images: Count
    stored_size: Annotated[Count, From("stored")]
    skipped: Annotated[Count, described("Places that were not read.")]
    complete: Annotated[bool, described("Every file was read to its end.")]
    kernels: Annotated[
        Count | None, described("Distinct kernels that were compared; null when they were not.")
    ]
    nvjitlink: LinkerFloor | None
    nvjitlink_beyond: Annotated[
        bool, described("Something is linked that no known nvJitLink takes.")
    ]
    nvjitlink_imports: Annotated[
        str | None,
        From("imports"),
        described("The least nvJitLink that has all names imported of it."),
    ]
    driver_sass: str | None
    driver_ptx: str | None
    ptx_beyond: bool
    metadata: Metadata | None


class Change(Record):
    """One thing that is not as it was."""

    kind: Annotated[
        str,
        one_of(
            "file-lost",
            "file-gained",
            "arch-lost",
            "arch-gained",
            "gpu",
            "nvjitlink",
            "nvjitlink-imports",
            "driver",
            "makers",
            "ltoir",
            "isa",
            "compression",
            "imports",
            "libraries",
            "size",
            "stored",
            "kernels-lost",
            "kernels-gained",
            "version",
            "name",
            "tags",
            "requires",
        ),
    ]
    subject: Annotated[str, described("The file; empty for the whole.")]
    about: Annotated[str, described("The kind of image, the GPUs, or the package required.")]
    old: Annotated[
        tuple[str, ...] | Count | None,
        described("What only the old one has, or how it was; numbers are bytes."),
    ]
    new: tuple[str, ...] | Count | None
    count: Annotated[
        Count,
        described(
            "How many values differ; more than are listed where names of kernels take over 64 MiB."
        ),
    ]
    breaking: (
        Annotated[str, one_of("lost-arch", "driver-rose", "nvjitlink-rose", "lost-ptx")] | None
    )
    forbidden: bool
    places: tuple[PlaceText, ...]


class Summary(Record):
    """How many there are."""

    changes: Count
    forbidden: Count
    errors: tuple[Failure, ...]


class Diff(Document, tag="ltocompat/diff/v1"):
    """What moved between two releases of an artifact. Members may be added before 1.0."""

    old: Side
    new: Side
    changes: tuple[Change, ...]
    unknown: Annotated[tuple[str, ...], described("Sentences about what could not be compared.")]
    forbidden: Annotated[
        tuple[
            Annotated[str, one_of("lost-arch", "driver-rose", "nvjitlink-rose", "lost-ptx")], ...
        ],
        described("The words that were given to --forbid."),
    ]
    summary: Summary
