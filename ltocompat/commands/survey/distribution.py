"""A distribution as its source tells it before its file is read, and the cost of its task."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from ltocompat.scan.sources import is_address


class Distribution(Struct, frozen=True, kw_only=True):
    """A file to survey, as its source knows it.

    Attributes:
        source: its path or address.
        filename: name of the file.
        index: its index; None for a file of a folder.
        project: normalized name; None if unknown.
        version: as written; None if unknown.
        tags: the tags of the file name.
        platforms: the platforms of the tags.
        requires_python: the index's value.
        upload_time: time of the upload to the index.
        yanked: True if its project withdrew it.
        yanked_reason: the reason for that.
        size: bytes, from the index.
        sha256: SHA-256, from the index or computed.
        has_metadata: True if METADATA can be fetched by itself (PEP 658).
        metadata_sha256: SHA-256 of METADATA; None if unknown.
    """

    source: str
    filename: str
    index: str | None = None
    project: str | None = None
    version: str | None = None
    tags: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    requires_python: str | None = None
    upload_time: datetime | None = None
    yanked: bool = False
    yanked_reason: str | None = None
    size: int | None = None
    sha256: str | None = None
    has_metadata: bool = False
    metadata_sha256: str | None = None

    @property
    def remote(self) -> bool:
        """Return whether it must be fetched."""
        return self.index is not None or is_address(self.source)


class Measures(Struct, frozen=True, kw_only=True):
    """The cost of a distribution's task.

    Attributes:
        surveyed: the end of the task.
        seconds: wall-clock time.
        cpu_seconds: processor time.
        peak_memory: largest resident memory of the process so far, bytes; 0 if unknown.
        bytes_fetched: bytes that came over the network.
        requests: requests that were sent.
        looked_at: ``whole`` or ``members``; None if nothing was read.
    """

    surveyed: datetime
    seconds: float
    cpu_seconds: float
    peak_memory: int = 0
    bytes_fetched: int = 0
    requests: int = 0
    looked_at: str | None = None
