"""`ltocompat/linkers/v1`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ltocompat.model.linker import Linker
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Count,
    Document,
    Record,
    ReleaseText,
    RunSummary,
    Skipped,
    one_of,
    published,
)


@published(Linker)
class Copy(Record):
    """One copy of a linker.

    Attributes:
        release: Minor release.
        version: The most exact version that the evidence proves.
        path: The file itself, after all symbolic links are followed.
        found_via: The places or search rules (such as conda) that lead to this copy.
        evidence: The bytes or file that prove the version.
        for_trials: True if the copy is in the trial cache; deploy targets never use such a copy.
        machine: The processor for which the linker is built.
        action: What the command did with the copy; null if it only listed the copies.
        size: The size of the copy's files in bytes; null if the command only listed the copies.
        tool: The kind of linker.
    """

    release: ReleaseText
    version: Annotated[str, Meta(pattern="^[0-9]+\\.[0-9]+(\\.[0-9]+)?$")]
    found_via: Annotated[tuple[str, ...], From(through=lambda ways: tuple(ways.split(", ")))]
    machine: str
    action: Annotated[str, one_of("installed", "kept", "removed")] | None
    size: Count | None


class Summary(RunSummary):
    """Numbers of linkers and skipped places, and the number of downloaded bytes."""

    linkers: Count
    skipped: Count
    download: Count


class Linkers(Document, tag="ltocompat/linkers/v1"):
    """The linkers on this machine; after install or remove, only the linkers that were named."""

    linkers: tuple[Copy, ...]
    skipped: tuple[Skipped, ...]
    summary: Summary
