"""A file inside a container."""

from __future__ import annotations

from dataclasses import dataclass

from ltocompat.files.byteview import ByteView
from ltocompat.model.place import Place


@dataclass(frozen=True, slots=True)
class Member:
    """One member: its place and its bytes.

    Attributes:
        place: where it lies.
        view: its bytes, unpacked.
        position: how far its container had been read when it was found, bytes; for progress.
    """

    place: Place
    view: ByteView
    position: int = 0


def concerns(place: Place, wanted: Place) -> bool:
    """Whether a member at ``place`` is asked for, whole or in part."""
    return place.contains(wanted) or wanted.contains(place)
