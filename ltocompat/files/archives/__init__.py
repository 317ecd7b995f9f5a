"""Files that hold other files; one file for each format, loaded where a file may be of it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import suppress
from typing import Protocol

from ltocompat.files.archives.member import ImageMembers
from ltocompat.files.byteview import ByteView
from ltocompat.files.first_bytes import (
    BLOCK,
    RPM_MAGIC,
    ZIP_END_MAGIC,
    holds_no_code,
    is_ar,
    is_tar,
    may_be_zip,
    names_image,
    packing_of,
)
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location


class ContainerFormat(Protocol):
    """A module that recognises a container, and walks its members."""

    def sniff(self, view: ByteView, budget: Budget, /) -> bool:
        """Return whether the bytes are such a container."""

    def members(
        self, view: ByteView, place: Location, wanted: Location, budget: Budget, /
    ) -> ImageMembers:
        """Yield its members in file order, broken ones as ``Skipped``, and a layer after its files.

        Members outside of ``wanted`` may be left out, which saves unpacking them.

        Raises:
            LimitExceeded: reading on would cost more than the limits allow.
        """


def _candidates(view: ByteView) -> Iterator[ContainerFormat]:
    """Yield the formats that the bytes may be of; a new one is one file and one condition here.

    Zip comes last: it is also recognised by its end, behind anything.
    """
    if is_ar(view):
        from ltocompat.files.archives import archive

        yield archive
    head = view.peek(0, BLOCK)
    if is_tar(head):
        if names_image(functools.partial(view.peek, 0)):
            from ltocompat.files.archives import container_image

            yield container_image
        from ltocompat.files.archives import tar

        yield tar
    if head.startswith(RPM_MAGIC):
        from ltocompat.files.archives import rpm

        yield rpm
    if packing_of(view) is not None:
        from ltocompat.files.archives import compressed

        yield compressed
    if may_be_zip(view):
        from ltocompat.files.archives import zip as zips

        yield zips


def container_of(view: ByteView, budget: Budget | None = None) -> ContainerFormat | None:
    """Return the format of this container; None if it is not a container.

    Args:
        view: the bytes.
        budget: the budget for reading them; None for the default.
    """
    budget = budget or Budget()
    return next((found for found in _candidates(view) if found.sniff(view, budget)), None)


# Bytes of the end record of a zip, and of the longest comment behind it.
_ZIP_END = 22 + 0xFFFF


def split_program(view: ByteView, budget: Budget) -> tuple[ByteView, ContainerFormat | None]:
    """Return a program without the zip behind it, and the reader of that zip; None for no zip.

    Installers that unpack themselves are such files. Between the program and the first member of
    the zip may be text, as of the launchers of pip, but nothing that may hold device code.
    """
    tail = view.peek(max(view.size - _ZIP_END, 0), _ZIP_END)
    if may_be_zip(view) or ZIP_END_MAGIC not in tail:
        return view, None
    from ltocompat.files.archives import zip as zips
    from ltocompat.files.objects import structure_of

    with suppress(Malformed):
        begin, program = zips.begin(view), structure_of(view, budget)
        end = max((section.end for section in program.sections), default=0) if program else 0
        if 0 < end <= begin and holds_no_code(view.sub(end, begin - end)):
            return view.sub(0, begin), zips
    return view, None
