"""Read bytes in memory the way that files are read."""

from __future__ import annotations

from ltocompat.files.byteview import ByteView
from ltocompat.model.image import Image, Module, Record, Skipped
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.location import Location
from ltocompat.scan import walk
from ltocompat.scan.describe import ReadOptions


def records_of(
    data: bytes, *, limits: Limits = DEFAULT_LIMITS, detail: bool = False
) -> list[Record]:
    settings = walk.ScanSettings(ReadOptions(detail, detail), limits)
    batches = walk.batches_of_view(ByteView.of(data), Location("input"), settings)
    return [record for batch in batches for record in batch.records]


def modules_of(data: bytes) -> list[Module]:
    return [record for record in records_of(data) if isinstance(record, Module)]


def images_of(data: bytes) -> list[Image]:
    return [image for module in modules_of(data) for image in module.images]


def skipped_of(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> list[Skipped]:
    return [r for r in records_of(data, limits=limits) if isinstance(r, Skipped)]
