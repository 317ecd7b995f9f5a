"""`ltocompat/diff/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model import diff
from ltocompat.model.diff import BREAKING, KINDS
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Count,
    Document,
    Record,
    RunSummary,
    one_of,
    published,
    published_unchanged,
)

BreakingWord = Annotated[str, one_of(*BREAKING)]


class LinkerFloor(Record):
    """The minimum nvJitLink that links all inputs."""

    possible: str
    sure: str | None
    exact: bool
    ceiling: Count


published_unchanged(diff.Metadata)


@published(diff.DiffSummary)
class Side(Record):
    """One of the two releases.

    Attributes:
        saved: True if the release was read from a saved JSON output of inspect.
        size: Total size of all files in bytes; null if unknown.
        skipped: Number of places that were not read.
        complete: True if every file was read to its end.
        kernels: Number of distinct kernels that were compared; null if kernels were not compared.
        nvjitlink_beyond: True if some of the code can't be linked by any known nvJitLink.
        nvjitlink_imports: The minimum nvJitLink that exports all names that the files import.
    """

    stored_size: Annotated[Count, From("stored")]
    nvjitlink: LinkerFloor | None
    nvjitlink_imports: Annotated[str | None, From("imports")]


@published(diff.Change)
class Change(Record):
    """One difference between two releases.

    Attributes:
        subject: The file; empty for the whole release.
        about: The kind of image, the GPUs, or the required package.
        old: The values that only the old release has, or the value before the change; numbers are
            sizes in bytes.
        count: Number of values that differ. If the names of kernels exceed 64 MiB, the lists in
            "old" and "new" are incomplete.
    """

    kind: Annotated[str, one_of(*KINDS)]
    breaking: BreakingWord | None
    forbidden: bool


class Summary(RunSummary):
    """Number of changes."""

    changes: Count
    forbidden: Count


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
