"""Single members of a container, asked for by name."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice

from ltocompat.files.archives import container_of
from ltocompat.files.archives.member import Member
from ltocompat.files.archives.zip import LOCAL_MAGIC, entries, find_end
from ltocompat.files.byteview import ByteView
from ltocompat.model.errors import Malformed
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location


def zip_names(view: ByteView, budget: Budget) -> tuple[str, ...] | None:
    """Names of the members of a zip, without unpacking any; None where it is no zip.

    A directory that breaks off gives the names in front.
    """
    if view.peek(0, len(LOCAL_MAGIC)) != LOCAL_MAGIC:
        return None
    found: list[str] = []
    with suppress(Malformed):
        listed = budget.timed(entries(view, find_end(view)), every=1)
        found.extend(entry.name for entry in islice(listed, budget.limits.members))
    return tuple(found)


def member_of(view: ByteView, path: str, name: str, budget: Budget) -> ByteView | None:
    """The bytes of one member; None where it isn't there or can't be read."""
    return next(iter(_found(view, path, (name,), name, budget)), (name, None))[1]


def members_of(
    view: ByteView, path: str, names: Collection[str], budget: Budget
) -> dict[str, ByteView]:
    """The bytes of several members of a tar; reading stops with the last of them."""
    found: dict[str, ByteView] = {}
    for name, data in _found(view, path, names, None, budget):
        found.setdefault(name, data)
        if len(found) == len(names):
            break
    return found


def _found(
    view: ByteView, path: str, names: Collection[str], wanted: str | None, budget: Budget
) -> Iterator[tuple[str, ByteView]]:
    container = container_of(view, budget)
    if container is None:
        return
    place = Location(path)
    aim = place if wanted is None else place.member(wanted)
    try:
        for member in container.members(view, place, aim, budget):
            budget.check_time()
            if isinstance(member, Member) and member.place.members[-1].removeprefix("./") in names:
                yield member.place.members[-1].removeprefix("./"), member.view
    except Malformed:
        return
