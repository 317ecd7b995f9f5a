"""`ltocompat/slim/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model import slimmed
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import Count, Document, Record, RunSummary, published


@published(slimmed.Removal)
class Removal(Record):
    """Bytes of device code that were removed for one reason; no byte is counted twice."""


@published(slimmed.Untouched)
class Untouched(Record):
    """Device code that slim never changes.

    Attributes:
        reason: The reason, in one sentence.
        example: The first of these modules.
    """


@published(slimmed.LostGpu)
class Lost(Record):
    """An architecture that was not kept.

    Attributes:
        lost: Number of modules that had code for the architecture and have none now.
        compiled: Number of modules that now have PTX instead of SASS; a driver compiles the PTX.
    """


@published(slimmed.KeptVerdict)
class Kept(Record):
    """The verdicts before and after the change, on one file, target, GPU and route."""

    route: str | None
    before: str
    after: str


@published(slimmed.Slimmed, "code")
class Artifact(Record):
    """A file, package or folder that ``slim`` wrote.

    Attributes:
        output: The new file, package or folder. With --in-place, the folder for the original files;
            it exists only if files were changed.
        size: Size in bytes before the change.
        zero_size: Number of bytes that are now zero; a compressed wheel or layer needs no space for
            them.
        stored_size: Size in bytes of all device code before the change.
        files: Number of files that were changed.
        images: Number of images in changed regions that are unchanged, as their SHA-256 proves.
        verdicts: Verdicts on the GPUs that were kept.
        zstd: Number of kept images that were already compressed with Zstandard.
        more_zstd: Number of kept images that slim compressed with Zstandard.
        zstd_driver: The minimum driver that reads Zstandard (FB-01).
        void: Signatures that were left out of the new package, since they are no longer valid.
        in_place: True if files of a folder were replaced.
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


class Summary(RunSummary):
    """Sums for all paths together."""

    artifacts: Count
    saved: Count


class Slim(Document, tag="ltocompat/slim/v1"):
    """The files and packages that slim wrote. Members may be added before 1.0."""

    artifacts: tuple[Artifact, ...]
    summary: Summary
