"""Members of the package that was read last, for who reads them again to name their kernels."""

from __future__ import annotations

from ltocompat.files.archives.spool import holds_alone
from ltocompat.files.byteview import ByteView
from ltocompat.model.limits import MIB
from ltocompat.model.place import Place

_LEAST = 4 * MIB
_MOST = 512 * MIB


class KeptMembers:
    """Unpacked members of one file, in the temporary file that they were unpacked to.

    Only members of ``_LEAST`` bytes and more are kept, since smaller ones are unpacked again in no
    time, and no more than ``_MOST`` bytes of them: on some systems temporary files lie in memory.
    """

    def __init__(self) -> None:
        self._path: str | None = None
        self._views: dict[Place, ByteView] = {}

    def keep(self, place: Place, view: ByteView) -> None:
        """Keep a member; those of another file are let go."""
        if place.path != self._path:
            self._path = place.path
            self._views.clear()
        if view.size >= _LEAST and holds_alone(view):
            kept = sum(other.size for other in self._views.values())
            if kept + view.size <= _MOST:
                self._views[place] = view

    def around(self, place: Place) -> tuple[Place, ByteView] | None:
        """The kept member that a place is, or lies in; None where it was not kept."""
        for depth in range(len(place.members), 0, -1):
            at = Place(place.path, place.members[:depth])
            if at in self._views:
                return at, self._views[at]
        return None
