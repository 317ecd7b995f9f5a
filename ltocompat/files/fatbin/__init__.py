"""Stored images of a file: in fatbin regions, or without any fatbin around them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ltocompat.files.byteview import ByteView
from ltocompat.files.codec import Payload
from ltocompat.model.arch import SmArch
from ltocompat.model.image import Compression, ImageKind
from ltocompat.model.location import Location


class StoredImage(Struct, frozen=True):
    """An image as it lies in the file, before its own bytes are read.

    ``arch``, ``debug``, ``host_os``, ``options`` and ``identifier`` are what the entry header says;
    None around an image that has no entry. ``version`` is the entry's code version (major, minor).
    ``compression`` is how the file keeps it; the payload of an image inside a concatenated entry is
    decoded already. ``lacks_options``: it is PTX or LTO-IR whose entry has no place for options,
    which every compiler leaves. ``lists_family``: attributes in the entry header of SASS list the
    architectures of its family, as where CUDA 13 compiled it, or say nothing of them, as where 12.8
    did; None where there are none. ``entry_header`` is the whole header of an entry, as stored.
    ``problems`` are sentences about an entry header or a region around it, where one contradicts
    itself.
    """

    place: Location
    section: str | None
    kind: ImageKind
    payload: Payload
    stored_size: int | None
    compression: Compression
    kind_number: int | None = None
    version: tuple[int, int] | None = None
    arch: SmArch | None = None
    scrambled: bool = False
    relocatable: bool | None = None
    debug: bool | None = None
    host_os: str | None = None
    options: str | None = None
    lacks_options: bool = False
    identifier: str | None = None
    lists_family: bool | None = None
    entry_header: bytes | None = None
    problems: tuple[str, ...] = ()


class StoredModule(Struct, frozen=True):
    """A module as it lies in the file: its place, section, registration and stored images.

    ``region`` is all of its fatbin region, None around an image that has none. ``size`` is what its
    regions take in the file, headers, padding and prelinked ones included (bytes); None where there
    is not a region, or only a part of one was asked for.
    """

    place: Location
    section: str | None
    registered: bool | None
    images: Sequence[StoredImage]
    region: ByteView | None = None
    size: int | None = None
