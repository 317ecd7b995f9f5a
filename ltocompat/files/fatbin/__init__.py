"""Stored images of a file: in fatbin regions, or without any fatbin around them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import Payload
from ltocompat.model.image import Image
from ltocompat.model.location import Location


class StoredImage(Struct, frozen=True):
    """An image as stored in the file, before its own bytes are read.

    Attributes:
        entry: the image as far as its entry header describes it.
        payload: its bytes; for an image inside a concatenated entry, they are decoded already.
        version: the entry's code version (major, minor).
        entry_header: the whole header of an entry, as stored.
    """

    entry: Image
    payload: Payload
    version: tuple[int, int] | None = None
    entry_header: bytes | None = None


class StoredModule(Struct, frozen=True):
    """A module as stored in the file: its place, section, registration and stored images.

    ``region`` is its whole fatbin region; None for an image outside of fatbins. ``size`` is the
    bytes of its regions in the file, including headers, padding and prelinked regions; None without
    a region, or if only a part of one was requested.
    """

    place: Location
    section: str | None
    registered: bool | None
    images: Sequence[StoredImage]
    region: ByteView | None = None
    size: int | None = None
