"""`ltocompat/linkers/v1`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Count,
    Document,
    Failure,
    Record,
    ReleaseText,
    Skipped,
    described,
    one_of,
)


class Copy(Record):
    """One copy of a linker."""

    release: Annotated[ReleaseText, described("Minor release.")]
    version: Annotated[
        str,
        Meta(pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$"),
        described("The most exact version that is proved."),
    ]
    path: Annotated[str, described("The file itself, behind all links.")]
    found_via: Annotated[
        tuple[str, ...],
        From(through=lambda ways: tuple(ways.split(", "))),
        described("Every way in which it is reached."),
    ]
    evidence: Annotated[str, described("What proves the version.")]
    for_trials: Annotated[
        bool, described("It lies in the cache for trials, and is never the one of a deploy target.")
    ]
    machine: Annotated[str, described("Processor that it runs on.")]
    action: Annotated[
        Annotated[str, one_of("installed", "kept", "removed")] | None,
        described("What was done with it; null in a list."),
    ]
    size: Annotated[Count | None, described("Bytes of its files; null in a list.")]
    tool: Annotated[str, one_of("nvjitlink", "nvlink"), described("Which linker it is.")]


class Summary(Record):
    """Counts, and bytes that had to be downloaded."""

    linkers: Count
    skipped: Count
    download: Count
    errors: tuple[Failure, ...]


class Linkers(Document, tag="ltocompat/linkers/v1"):
    """The linkers at hand, or those that were installed or removed, as they came."""

    linkers: tuple[Copy, ...]
    skipped: tuple[Skipped, ...]
    summary: Summary
