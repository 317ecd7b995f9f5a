"""A file inside a container."""

from __future__ import annotations

from dataclasses import dataclass

from ltocompat.byteview import ByteView
from ltocompat.place import Place


@dataclass(frozen=True, slots=True)
class Member:
    """One member: its place and its bytes."""

    place: Place
    view: ByteView
