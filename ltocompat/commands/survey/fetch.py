"""The end of a wheel and its metadata, fetched where they tell that it has no device code."""

from __future__ import annotations

import hashlib
import io

from ltocompat.commands.survey.distribution import Distribution
from ltocompat.commands.survey.http import MOST_METADATA, FetchFailed, Http, Traffic
from ltocompat.files.archives.zip import find_end
from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import MIB, Budget
from ltocompat.packages.metadata import read_metadata
from ltocompat.packages.values import Package
from ltocompat.packages.zip_members import ZipMember, zip_members

# An end record with the longest comment takes 65,557 bytes; most directories fit into the rest.
_TAIL = 80 << 10
_MOST_DIRECTORY = 64 * MIB


def fetch_members(
    url: str, file: io.FileIO, http: Http, budget: Budget, traffic: Traffic
) -> list[ZipMember] | None:
    """Return the members of a zip from its end; None if only the whole file shows them.

    Args:
        url: the address of the zip.
        file: gets its size and its end.
        http: sends the requests.
        budget: the budget for reading the list.
        traffic: is added to.

    Raises:
        FetchFailed: the server can't be reached, or has no such file.
    """
    size = _TAIL
    for _ in range(2):  # again where the directory is longer
        part = http.part(url, f"-{size}", size, traffic)
        if part is None or part.start + len(part.data) != part.size:
            break
        file.seek(part.start)
        file.write(part.data)
        view = ByteView(FileSource(file.fileno()))
        try:
            size = view.size - find_end(view).start
        except Malformed:
            break
        if size <= len(part.data):
            return zip_members(view, budget)
        if size > _MOST_DIRECTORY:
            break
    return None


def fetch_metadata(
    distribution: Distribution, http: Http, budget: Budget, traffic: Traffic
) -> Package | None:
    """Return METADATA of a wheel without fetching the wheel (PEP 658); None if the index has none.

    Raises:
        FetchFailed: it can't be fetched, or its SHA-256 differs from the index.
    """
    if not distribution.has_metadata:
        return None
    url = f"{distribution.source}.metadata"
    page = http.page(url, "*/*", MOST_METADATA, traffic)
    if distribution.metadata_sha256 not in (None, hashlib.sha256(page.data).hexdigest()):
        raise FetchFailed(
            f"the SHA-256 of {url} differs from the SHA-256 in the index", passing=True
        )
    return read_metadata(page.data, budget)
