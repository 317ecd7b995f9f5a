"""`ltocompat/diff/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model import diff
from ltocompat.model.diff import BREAKING, KINDS
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Count,
    Document,
    Failure,
    Record,
    one_of,
    published,
)

BreakingWord = Annotated[str, one_of(*BREAKING)]


class LinkerFloor(Record):
    """The minimum nvJitLink that links all of it."""

    possible: str
    sure: str | None
    exact: bool
    ceiling: Count


@published(diff.Metadata)
class Metadata(Record):
    """Metadata of the package."""


@published(diff.DiffSummary)
class Side(Record):
    """One of the two.

    Attributes:
        saved: It was read from the JSON of an earlier inspection.
        size: Bytes of all files; null when not known.
        skipped: Places that were not read.
        complete: Every file was read to its end.
        kernels: Distinct kernels that were compared; null when they were not.
        nvjitlink_beyond: Something is linked that no known nvJitLink takes.
        nvjitlink_imports: The minimum nvJitLink that has all names imported of it.
    """

    stored_size: Annotated[Count, From("stored")]
    nvjitlink: LinkerFloor | None
    nvjitlink_imports: Annotated[str | None, From("imports")]


@published(diff.Change)
class Change(Record):
    """One difference between two releases.

    Attributes:
        subject: The file; empty for the whole.
        about: The kind of image, the GPUs, or the package required.
        old: What only the old one has, or how it was; numbers are bytes.
        count: How many values differ; more than are listed where names of kernels take over 64 MiB.
    """

    kind: Annotated[str, one_of(*KINDS)]
    old: tuple[str, ...] | Count | None
    new: tuple[str, ...] | Count | None
    breaking: BreakingWord | None
    forbidden: bool


class Summary(Record):
    """How many there are."""

    changes: Count
    forbidden: Count
    errors: tuple[Failure, ...]


class Diff(Document, tag="ltocompat/diff/v1"):
    """Changes between two releases of an artifact. Members may be added before 1.0.

    Attributes:
        unknown: Sentences about what could not be compared.
        forbidden: The words that were given to --forbid.
    """

    old: Side
    new: Side
    changes: tuple[Change, ...]
    unknown: tuple[str, ...]
    forbidden: tuple[BreakingWord, ...]
    summary: Summary
