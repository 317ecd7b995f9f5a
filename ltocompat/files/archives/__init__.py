"""Files that hold other files; one file for each format, which joins the tuple below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ltocompat.files.archives.archive import ArchiveFormat
from ltocompat.files.archives.compressed import CompressedFormat
from ltocompat.files.archives.member import Member
from ltocompat.files.archives.tar import TarFormat
from ltocompat.files.archives.zip import ZipFormat
from ltocompat.files.byteview import ByteView
from ltocompat.model.image import Skipped
from ltocompat.model.limits import Budget
from ltocompat.model.place import Place


class ContainerFormat(Protocol):
    """How to recognise a container and walk its members."""

    def sniff(self, view: ByteView, budget: Budget, /) -> bool:
        """Whether the bytes are such a container."""

    def members(
        self, view: ByteView, place: Place, wanted: Place, budget: Budget
    ) -> Iterator[Member | Skipped]:
        """Its members in file order; broken ones as ``Skipped``.

        Those that have nothing to do with ``wanted`` may be left out, which saves unpacking them.

        Raises:
            LimitExceeded: reading on would cost more than the limits allow.
        """


# Zip comes last: it is also recognised by its end, behind anything.
CONTAINERS: tuple[ContainerFormat, ...] = (
    ArchiveFormat(),
    TarFormat(),
    CompressedFormat(),
    ZipFormat(),
)


def container_of(view: ByteView, budget: Budget | None = None) -> ContainerFormat | None:
    """The format of this container, None when it is none.

    Args:
        view: the bytes.
        budget: what looking at them may cost; None for the usual.
    """
    budget = budget or Budget()
    return next((container for container in CONTAINERS if container.sniff(view, budget)), None)
