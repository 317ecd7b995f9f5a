"""Files that hold other files; one file for each format, which joins the tuple below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ltocompat.byteview import ByteView
from ltocompat.containers.archive import ArchiveFormat
from ltocompat.containers.member import Member
from ltocompat.limits import Budget
from ltocompat.model import Skipped
from ltocompat.place import Place


class ContainerFormat(Protocol):
    """How to recognise a container and walk its members."""

    def sniff(self, view: ByteView) -> bool:
        """Whether the bytes begin such a container."""

    def members(self, view: ByteView, place: Place, budget: Budget) -> Iterator[Member | Skipped]:
        """Its members in file order; broken ones as ``Skipped``."""


CONTAINERS: tuple[ContainerFormat, ...] = (ArchiveFormat(),)


def container_of(view: ByteView) -> ContainerFormat | None:
    """The format of this container, None when it is none."""
    return next((container for container in CONTAINERS if container.sniff(view)), None)
