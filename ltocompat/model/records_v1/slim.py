"""`ltocompat/slim/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model import slimmed
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Count,
    Document,
    Failure,
    Record,
    published,
)


@published(slimmed.Removal)
class Removal(Record):
    """Bytes of device code that went for one reason; no byte is in two of them."""


@published(slimmed.Untouched)
class Untouched(Record):
    """Device code that stays as it is, whatever was asked for.

    Attributes:
        reason: One sentence.
        example: The first of these modules.
    """


@published(slimmed.LostGpu)
class Lost(Record):
    """An architecture that was not kept.

    Attributes:
        lost: Modules that had code for it and have none.
        compiled: Modules whose SASS for it went, so that a driver compiles PTX.
    """


@published(slimmed.KeptVerdict)
class Kept(Record):
    """The verdict on one file, target, GPU and route, before and after."""

    route: str | None
    before: str
    after: str


@published(slimmed.Slimmed, "code")
class Artifact(Record):
    """A file, package or folder that ``slim`` wrote.

    Attributes:
        output: The new one; with --in-place the folder that has the original files, if any.
        size: Bytes of it, before.
        zero_size: Bytes of its files that are zeros now, which take nothing in a wheel or a layer.
        stored_size: Bytes of all device code, before.
        files: Files in it that were changed.
        images: Images that stay in changed regions; each was compared by SHA-256.
        verdicts: On the GPUs that were kept.
        zstd: How many of these images were packed by Zstandard before.
        more_zstd: How many more are now.
        zstd_driver: The minimum driver that reads those (FB-01).
        void: Signatures that were left out of a wheel.
        in_place: Files of a folder were replaced.
    """

    new_size: Count
    zero_size: Annotated[Count, From("code.zeros")]
    stored_size: Annotated[Count, From("code.stored")]
    saved: Count
    files: Count
    images: Count
    removed: tuple[Removal, ...]
    untouched: tuple[Untouched, ...]
    lost: tuple[Lost, ...]
    verdicts: tuple[Kept, ...]
    zstd: Annotated[Count, From("code.zstd")]
    more_zstd: Annotated[Count, From("code.more_zstd")]


class Summary(Record):
    """Sums over all paths."""

    artifacts: Count
    saved: Count
    errors: tuple[Failure, ...]


class Slim(Document, tag="ltocompat/slim/v1"):
    """Files and packages that were written anew. Members may be added before 1.0."""

    artifacts: tuple[Artifact, ...]
    summary: Summary
