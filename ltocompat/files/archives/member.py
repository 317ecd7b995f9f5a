"""A file inside a container, and its name, which is shown and compared, never used as a path."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from msgspec import Struct

from ltocompat.files.byteview import ByteView
from ltocompat.model.errors import LimitExceeded, Malformed
from ltocompat.model.image import ImageLayer, Skipped
from ltocompat.model.limits import Limits
from ltocompat.model.location import Location


class Member(Struct, frozen=True):
    """One member: its place and its bytes.

    Attributes:
        place: its place.
        view: its unpacked bytes.
        end: offset of its end in the container, bytes; for progress.
    """

    place: Location
    view: ByteView
    end: int = 0


Members = Iterator[Member | Skipped]
ImageMembers = Iterator[Member | Skipped | ImageLayer]


def concerns(place: Location, wanted: Location) -> bool:
    """Return whether a member at ``place`` is requested, completely or in part."""
    return wanted.contains(place) or place.contains(wanted)


def until_damage(found: Members, place: Location) -> Members:
    """Yield the contents of an archive, then the reason if it ends early."""
    try:
        yield from found
    except LimitExceeded:
        raise
    except Malformed as error:
        yield Skipped(place, f"the rest of the archive can't be read: {error}")


# PATH_MAX of Linux; other systems take less.
_LONGEST = 4096
_DRIVE = re.compile(r"[A-Za-z]:")
_LEADS_OUT = "its name leads out of the folder into which it is unpacked"


class Names:
    """The names in one package, so that each member gets a separate place.

    Only hashes are kept: a package may hold hundreds of thousands of long names.
    """

    def __init__(self, place: Location, limits: Limits) -> None:
        self.place = place
        self._most = limits.members
        self._times: dict[int, int] = {}
        self._folders: set[int] = set()
        self._links: list[tuple[Location, int, str]] = []  # what is linked to by its key

    def take(self, name: str) -> tuple[Location, list[str]]:
        """Return the place of a member, and the problems of its name, one sentence each.

        The second member with a name is called ``name,2``: unpacking keeps only the last one, and
        it is unknown which one is right.
        """
        problems = []
        if _leads_out(name):
            problems.append(_LEADS_OUT)
        if "\0" in name:
            problems.append("its name holds a NUL byte, and some unpackers cut the name there")
        if len(name) > _LONGEST:
            problems.append(f"its name of {len(name)} characters is longer than any system accepts")
            name = f"{name[:100]}..."
        path = posixpath.normpath(name)
        key = hash(path)
        times = self._times.get(key, 0) + 1
        self._times[key] = times
        self._add_folders(path)
        if times > 1:
            problems.append(
                f"an earlier member also has the name {name[:100]!r}; unpacking keeps the last"
            )
            while (key := _key(f"{name},{times}")) in self._times:
                times += 1
            self._times[key] = 1
            name = f"{name},{times}"
        return self.place.member(name), problems

    def folder(self, name: str) -> Iterator[Skipped]:
        """Note a folder, which has no contents of its own."""
        if _leads_out(name):
            yield Skipped(self.place.member(name[:_LONGEST]), _LEADS_OUT)
        if len(self._folders) < self._most:
            self._folders.add(_key(name))
            self._add_folders(posixpath.normpath(name))

    def link(self, name: str, target: str, wanted: Location, *, hard: bool) -> Iterator[Skipped]:
        """Note a link, whose target is read under its own name and is searched at the end."""
        place, problems = self.take(name)
        yield from (Skipped(place, problem) for problem in problems)
        yield from self.link_at(place, name, target, wanted, hard=hard)

    def link_at(
        self, place: Location, name: str, target: str, wanted: Location, *, hard: bool
    ) -> Iterator[Skipped]:
        """Note a link whose name was noted already; targets of hard links begin at the top."""
        full = posixpath.join("" if hard else posixpath.dirname(name), target)
        shown = target[:100]
        if _leads_out(full):
            yield Skipped(place, f"it is a link that leads out of the package, to {shown!r}")
        elif len(self._links) < self._most and len(full) <= _LONGEST:
            self._links.append((place, _key(full), shown))
        if place.contains(wanted):
            yield Skipped(place, f"it is a link to {shown!r}; name its target")

    def broken_links(self) -> Iterator[Skipped]:
        """Yield links whose targets were not found, after all names were read."""
        if len(self._folders) >= self._most:
            return
        for place, key, target in self._links:
            if key not in self._times and key not in self._folders:
                yield Skipped(place, f"it is a link to {target!r}, which is not in the package")

    def _add_folders(self, path: str) -> None:
        while (path := path.rpartition("/")[0]) and len(self._folders) < self._most:
            if hash(path) in self._folders:
                return
            self._folders.add(hash(path))


def _leads_out(name: str) -> bool:
    """Return whether a path is absolute, or climbs above where it begins, on any system."""
    name = name.replace("\\", "/")
    if name.startswith("/") or _DRIVE.match(name):
        return True
    return ".." in name and posixpath.normpath(name).partition("/")[0] == ".."


def _key(name: str) -> int:
    """Return a number that is equal for names that unpack to the same path."""
    return hash(posixpath.normpath(name))
