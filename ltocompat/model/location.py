"""Locations of device code, which can be pasted into a shell: ``libx.a::m.o@0x1f40.3``.

``::`` enters a member, ``@`` gives a hexadecimal offset in the innermost file, ``.n`` the entry of
that fatbin region (counted from 0), ``.n.k`` the image inside a concatenated entry.
"""

from __future__ import annotations

import os
import re
import sys

from msgspec import Struct

from ltocompat.model.errors import UsageError

_TAIL = re.compile(r"@(0x[0-9a-fA-F]{1,16})((?:\.[0-9]{1,9}){0,2})$")
_UNSAFE = re.compile(r"[^\w./+,:-]+|:(?=:)|(?<=:):|^:|:$")

# A drive of Windows is one letter; what a path is for may stand in front of it: json=s3://b/x.
_ADDRESS = re.compile(r"(?:^|[=,])[A-Za-z][A-Za-z0-9+.-]+://")


class Location(Struct, frozen=True, gc=False, repr_omit_defaults=True):
    """The place of a file, a member of a file, a fatbin region or an image.

    Attributes:
        path: the file as the user knows it; ``-`` is standard input.
        members: names of the members that lead to the place, outermost first, as stored (not
            encoded).
        offset: byte offset in the innermost file; None for the file as a whole.
        entry: ``()`` for a region, ``(n,)`` for an entry, ``(n, k)`` for an image in a concatenated
            entry.
    """

    path: str
    members: tuple[str, ...] = ()
    offset: int | None = None
    entry: tuple[int, ...] = ()

    def __str__(self) -> str:
        text = "::".join(_encode(name) for name in (self.path, *self.members))
        if self.offset is not None:
            text += f"@{self.offset:#x}" + "".join(f".{number}" for number in self.entry)
        return text

    @property
    def shown(self) -> str:
        """The place for a reader: its path is not encoded, so that a shell may need quotes."""
        return self.path + str(self).removeprefix(_encode(self.path))

    @property
    def is_file(self) -> bool:
        """Return whether the location is a whole file, not a place inside a file."""
        return not self.members and self.offset is None

    def check_found(self, *, found: bool) -> None:
        """Check that something was found at this place.

        Raises:
            UsageError: nothing was found.
        """
        if not (found or self.is_file):
            raise UsageError(
                f"there is nothing at {self}; list the images with: ltocompat inspect --images "
                f"{self.path}"
            )

    @property
    def innermost(self) -> str:
        """Name of the innermost member, as stored.

        If there are no members, the path of the file.
        """
        return self.members[-1] if self.members else self.path

    @property
    def inside(self) -> str | None:
        """Path inside the file, ``pkg/libx.so`` or ``libx.a::m.o``; None for the file itself."""
        return "::".join(map(_encode, self.members)) or None

    def member(self, name: str) -> Location:
        """Return the place of a member of this file."""
        return Location(self.path, (*self.members, name))

    def at(self, offset: int, *entry: int) -> Location:
        """Return the place of a region of this file, or of an entry in a region."""
        return Location(self.path, self.members, offset, entry)

    def contains(self, other: Location) -> bool:
        """Return whether ``other`` is this place or lies inside it."""
        if self.path != other.path or self.members != other.members[: len(self.members)]:
            return False
        around = (other.members, other.offset, other.entry[: len(self.entry)])
        return self.offset is None or around == (self.members, self.offset, self.entry)

    @classmethod
    def parse(cls, text: str) -> Location:
        """Read a location in the form that ``str()`` writes, or a plain path.

        If the whole text is the name of an existing file, the location is that file.

        Raises:
            UsageError: the text is empty.
        """
        if not text:
            raise UsageError("an empty path was given; name a file, a folder, a location or -")
        if text == "-" or os.path.lexists(text):
            return cls(text)
        tail = _TAIL.search(text)
        first, *members = (text[: tail.start()] if tail else text).split("::")
        path = first if os.path.lexists(first) else _decode(first)
        offset = int(tail[1], 16) if tail else None
        entry = tuple(int(number) for number in tail[2].split(".")[1:]) if tail else ()
        return cls(path, tuple(_decode(member) for member in members), offset, entry)


def _encode(name: str) -> str:
    """Percent-encode what a shell, a terminal or our own grammar would take for something else."""
    return _UNSAFE.sub(_quoted, name)


def _quoted(match: re.Match[str]) -> str:
    # Imported here, as in _decode: hardly any name needs it.
    from urllib.parse import quote

    try:
        return quote(match[0], safe="", errors="surrogateescape")
    except UnicodeEncodeError:  # half a pair of UTF-16, which names of Windows may hold
        return quote(match[0], safe="", errors="surrogatepass")


def _decode(name: str) -> str:
    """Undo ``_encode``."""
    from urllib.parse import unquote

    try:
        return unquote(name, errors=sys.getfilesystemencodeerrors())
    except UnicodeDecodeError:  # on Windows, a byte of a member's name that is no UTF-8
        return unquote(name, errors="surrogateescape")


def refuse_address(path: str | os.PathLike[str], option: str) -> None:
    """Check that a path is on this machine.

    Raises:
        UsageError: it is an address.
    """
    text = os.fspath(path)
    if _ADDRESS.search(text):
        raise UsageError(
            f"{text!r} is an address, but {option} takes a path on this machine; copy the files "
            "yourself"
        )


def folders_around(where: str) -> tuple[str, ...]:
    """Return a folder and its parents, the nearest first."""
    from pathlib import PurePath

    path = PurePath(os.path.abspath(where))
    return tuple(map(str, (path, *path.parents)))
