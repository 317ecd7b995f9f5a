"""Folders that are OCI layouts, read as the tar archive that they would be.

Source: OCI Image Format Specification 1.1, "image-layout".
"""

from __future__ import annotations

import os
import tarfile
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, islice

from ltocompat.files.byteview import ByteView, MemorySource, Source
from ltocompat.files.regular import OpenedFile, open_regular
from ltocompat.model.limits import Limits

_LAYOUT, _INDEX, _BLOBS = "oci-layout", "index.json", os.path.join("blobs", "sha256")


def is_layout(folder: str) -> bool:
    """Return whether a folder is an OCI layout, which is one artifact."""
    return os.path.isfile(os.path.join(folder, _LAYOUT)) and any(
        os.path.exists(os.path.join(folder, name)) for name in (_INDEX, _BLOBS)
    )


def view_of_layout(folder: str, limits: Limits) -> ByteView:
    """Open the bytes of a layout as one archive.

    Raises:
        OSError: one of its files can't be read.
    """
    return ByteView(_Joined(list(_parts(folder, limits))))


def _parts(folder: str, limits: Limits) -> Iterator[Source]:
    blobs = os.path.join(folder, _BLOBS)
    names = sorted(os.listdir(blobs)) if os.path.isdir(blobs) else []
    listed = (os.path.join(_BLOBS, name) for name in islice(names, limits.members))
    index = (_INDEX,) if os.path.exists(os.path.join(folder, _INDEX)) else ()
    for name in (_LAYOUT, *index, *listed):
        source = OpenedFile(open_regular(os.path.join(folder, name)))
        member = tarfile.TarInfo(name.replace(os.sep, "/"))
        member.size = source.size
        yield MemorySource(member.tobuf(tarfile.GNU_FORMAT))
        yield source
        yield MemorySource(bytes(-source.size % tarfile.BLOCKSIZE))
    yield MemorySource(bytes(2 * tarfile.BLOCKSIZE))


class _Joined:
    """Sources that follow each other."""

    def __init__(self, parts: list[Source]) -> None:
        self._parts = [part for part in parts if part.size]
        self._ends = list(accumulate(part.size for part in self._parts))
        self.size = self._ends[-1]

    def pread(self, size: int, offset: int) -> bytes:
        """Return bytes of the source at the offset; a view requests the rest again."""
        at = bisect_right(self._ends, offset)
        start = self._ends[at] - self._parts[at].size
        return self._parts[at].pread(min(size, self._ends[at] - offset), offset - start)
