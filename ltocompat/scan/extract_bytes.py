"""Cutting an image out of its file: its bytes as a file of its own."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from msgspec import Struct

from ltocompat.files.fatbin import StoredImage, StoredModule
from ltocompat.files.fatbin.region import single_entry_region
from ltocompat.model.errors import Malformed
from ltocompat.model.image import ImageKind, Skipped
from ltocompat.model.location import Location
from ltocompat.scan import walk
from ltocompat.scan.describe import image_bytes

_NAMES = {
    ImageKind.SASS: "cubin",
    ImageKind.PTX: "ptx",
    ImageKind.LTOIR: "ltoir",
    ImageKind.TILEIR: "tileir",
    ImageKind.UNKNOWN: "bin",
}
_SCRAMBLED = "scrambled by its vendor: kept in a fatbin of one entry, which nvJitLink reads"


class Cut(Struct, frozen=True):
    """A separate image.

    Attributes:
        data: its bytes.
        what: ``cubin``, ``ptx``, ``ltoir``, ``tileir``, ``bin``, or ``fatbin`` around an image
            whose bytes can't be read.
        note: a note for the user, else None.
    """

    data: bytes
    what: str
    note: str | None = None


def cut(stored: StoredImage) -> Cut:
    """Return the image as a separate file, decoded if possible.

    Raises:
        Malformed: its bytes can't be decoded, or its end is unknown.
    """
    if stored.entry.scrambled:
        if stored.entry_header is None:
            raise Malformed("it is scrambled inside a concatenated entry and can't be cut out")
        data = stored.payload.stored.all()
        return Cut(single_entry_region(stored.entry_header, data), "fatbin", _SCRAMBLED)
    if stored.entry.stored_size is None:
        raise Malformed("its length is not recorded, so it can't be cut out")
    return Cut(image_bytes(stored), _NAMES[stored.entry.kind])


def images_at(place: Location, settings: walk.ScanSettings) -> Iterator[StoredImage | Skipped]:
    """Yield every image at a place as stored, while its file is open.

    Raises:
        UnreadableInput: the path can't be opened.
    """
    read = functools.partial(walk.stored_in_file, settings=settings)
    for stored in walk.of_each_file(place, settings, read):
        if isinstance(stored, StoredModule):
            yield from stored.images
        elif isinstance(stored, Skipped):
            yield stored
