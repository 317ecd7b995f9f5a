"""`ltocompat/nvjitlink/v1`: of ``ltocompat nvjitlink``, with the rows of ``linkers``."""

from __future__ import annotations

from ltocompat.model.records_v1.base import Count, Document, Failure, Record, Skipped
from ltocompat.model.records_v1.linkers import Copy


class Summary(Record):
    """Counts, and bytes that had to be downloaded."""

    nvjitlinks: Count
    skipped: Count
    download: Count
    errors: tuple[Failure, ...]


class Nvjitlink(Document, tag="ltocompat/nvjitlink/v1"):
    """The nvJitLinks at hand, or those that were installed or removed, as they came."""

    nvjitlinks: tuple[Copy, ...]
    skipped: tuple[Skipped, ...]
    summary: Summary
