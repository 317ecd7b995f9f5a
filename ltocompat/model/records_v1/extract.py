"""`ltocompat/extract/v1`."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, UnsetType

from ltocompat.model.records_v1.base import Count, Document, PlaceText, Record, RunSummary, one_of


class Entry(Record):
    """A written file, or a skipped place.

    Attributes:
        written: True if the file was written; "path", "what" and "note" then describe it. False if
            the place was skipped; "reason", "size" and "limit" then say why.
    """

    written: bool
    place: PlaceText
    path: str | UnsetType = UNSET
    what: Annotated[str, one_of("cubin", "ptx", "ltoir", "fatbin", "tileir", "bin")] | UnsetType = (
        UNSET
    )
    note: str | UnsetType | None = UNSET
    reason: str | UnsetType = UNSET
    size: Count | UnsetType | None = UNSET
    limit: str | UnsetType | None = UNSET


class Summary(RunSummary):
    """Numbers of written files and skipped places, and the errors."""

    written: Count
    skipped: Count


class Extract(Document, tag="ltocompat/extract/v1"):
    """The written files and the skipped places, in the order of the inputs."""

    entries: tuple[Entry, ...]
    summary: Summary
