"""Single members of a container, asked for by name."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice

from ltocompat.files.archives import container_of
from ltocompat.files.archives.member import Member
from ltocompat.files.archives.zip import entries, find_end
from ltocompat.files.byteview import ByteView
from ltocompat.files.first_bytes import ZIP_MAGIC
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location


def zip_names(view: ByteView, budget: Budget) -> tuple[str, ...] | None:
    """Return the names of a zip's members, without unpacking; None if it is not a zip.

    A truncated directory gives the names before its end.
    """
    if view.peek(0, len(ZIP_MAGIC)) != ZIP_MAGIC:
        return None
    found: list[str] = []
    with suppress(Malformed):
        listed = budget.timed(entries(view, find_end(view)), slow=True)
        found.extend(entry.name for entry in islice(listed, budget.limits.members))
    return tuple(found)


class _Ending(Location, frozen=True):
    """A container, of which members with these endings of names are wanted."""

    endings: tuple[str, ...] = ()

    def contains(self, other: Location) -> bool:
        """Return whether a member is wanted."""
        return other.innermost.endswith(self.endings)


def python_modules(view: ByteView, path: str, budget: Budget) -> Iterator[ByteView]:
    """Yield the bytes of the Python modules in a package."""
    return (data for _, data in _found(view, _Ending(path, endings=(".py",)), budget))


def member_of(view: ByteView, path: str, name: str, budget: Budget) -> ByteView | None:
    """Return the bytes of one member; None if it is missing or can't be read."""
    found = _found(view, Location(path).member(name), budget)
    return next((data for text, data in found if text == name), None)


def members_of(
    view: ByteView, path: str, names: Collection[str], budget: Budget
) -> dict[str, ByteView]:
    """Return the bytes of several members of a tar; reading stops after the last of them."""
    found: dict[str, ByteView] = {}
    for name, data in _found(view, _Ending(path, endings=tuple(names)), budget):
        if name in names:
            found.setdefault(name, data)
        if len(found) == len(names):
            break
    return found


def _found(view: ByteView, wanted: Location, budget: Budget) -> Iterator[tuple[str, ByteView]]:
    container = container_of(view, budget)
    if container is None:
        return
    with suppress(Malformed):
        for member in container.members(view, Location(wanted.path), wanted, budget):
            budget.check_time()
            if isinstance(member, Member):
                yield member.place.members[-1].removeprefix("./"), member.view
