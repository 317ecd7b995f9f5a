"""The end of a wheel, fetched where that tells that it has no device code."""

from __future__ import annotations

import hashlib

from ltocompat.commands.survey.distribution import Distribution
from ltocompat.commands.survey.http import MOST_METADATA, FetchFailed, Http, Traffic
from ltocompat.files.archives.zip import find_end
from ltocompat.files.byteview import ByteView
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import MIB, Budget
from ltocompat.packages.metadata import read_metadata
from ltocompat.packages.values import Package
from ltocompat.packages.zip_members import ZipMember, zip_members

# An end record with the longest comment takes 65,557 bytes; most directories fit into the rest.
_TAIL = 80 << 10
_MOST_DIRECTORY = 64 * MIB
_ANY = "*/*"


def remote_members(
    distribution: Distribution, http: Http, budget: Budget, traffic: Traffic
) -> tuple[list[ZipMember], int] | None:
    """The members of a wheel that is not fetched whole; None where only its bytes would tell.

    Raises:
        FetchFailed: the server can't be reached, or has no such file.
    """
    if not distribution.filename.endswith(".whl"):
        return None
    url = distribution.source
    tail = http.part(url, f"-{_TAIL}", _TAIL, traffic, None)
    if tail is None or tail.start + len(tail.data) != tail.size:
        return None
    try:
        end = find_end(ByteView(_EndOfFile(tail.data, tail.size)))
    except Malformed:
        return None
    data = tail.data
    if end.start < tail.start:
        missing = tail.start - end.start
        if missing > _MOST_DIRECTORY:
            return None
        span = f"{end.start}-{tail.start - 1}"
        front = http.part(url, span, missing, traffic, tail.etag)
        if front is None or front.size != tail.size or len(front.data) != missing:
            return None
        data = front.data + data
    members = zip_members(ByteView(_EndOfFile(data, tail.size)), budget)
    return None if members is None else (members, tail.size)


def remote_metadata(
    distribution: Distribution, http: Http, budget: Budget, traffic: Traffic
) -> Package | None:
    """METADATA of a wheel that is not fetched (PEP 658); None where the index has it not.

    Raises:
        FetchFailed: it can't be had, or has another sum than the index says.
    """
    if not distribution.has_metadata:
        return None
    url = f"{distribution.source}.metadata"
    page = http.page(url, _ANY, MOST_METADATA, traffic)
    wanted = distribution.metadata_sha256
    if wanted is not None and hashlib.sha256(page.data).hexdigest() != wanted:
        raise FetchFailed(f"{url} has another SHA-256 than its index says", passing=True)
    return read_metadata(page.data, budget)


class _EndOfFile:
    """The last bytes of a file; those in front of them are not at hand."""

    def __init__(self, data: bytes, size: int) -> None:
        self.size = size
        self._data = data
        self._start = size - len(data)

    def pread(self, size: int, offset: int) -> bytes:
        """Some of the bytes that are at hand.

        Raises:
            Malformed: they are not.
        """
        if offset < self._start:
            raise Malformed(f"the bytes at {offset:#x} are not at hand")
        return self._data[offset - self._start : offset - self._start + size]
