"""`ltocompat/linkers/v1`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ltocompat.model.linker import Linker
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Count,
    Document,
    Failure,
    Record,
    ReleaseText,
    Skipped,
    one_of,
    published,
)


@published(Linker)
class Copy(Record):
    """One copy of a linker.

    Attributes:
        release: Minor release.
        version: The most exact version that is proved.
        path: The file itself, behind all links.
        found_via: Every way in which it is reached.
        evidence: What proves the version.
        for_trials: It lies in the cache for trials, and is never the one of a deploy target.
        machine: Processor that it runs on.
        action: What was done with it; null in a list.
        size: Bytes of its files; null in a list.
        tool: Which linker it is.
    """

    release: ReleaseText
    version: Annotated[str, Meta(pattern="^[0-9]+\\.[0-9]+(\\.[0-9]+)?$")]
    found_via: Annotated[tuple[str, ...], From(through=lambda ways: tuple(ways.split(", ")))]
    machine: str
    action: Annotated[str, one_of("installed", "kept", "removed")] | None
    size: Count | None


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
