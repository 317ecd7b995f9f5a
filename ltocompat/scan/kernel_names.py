"""The names of the kernels of some modules, which are read for those who have to find them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.files.fatbin import StoredModule
from ltocompat.model.errors import UnreadableInput
from ltocompat.model.image import ImageKind
from ltocompat.model.limits import Limits
from ltocompat.model.place import Place
from ltocompat.scan.describe import Detail, describe
from ltocompat.scan.walk import ScanSettings, opened, stored_in_file

_CODE = (ImageKind.SASS, ImageKind.PTX)


def kernel_names(places: Iterable[Place], limits: Limits) -> dict[Place, tuple[str, ...]]:
    """The kernels of the modules at these places, by place; nothing of those that show none.

    Each innermost file is walked once, no further than to the last of its places.
    """
    inside: dict[Place, set[Place]] = {}
    for place in places:
        if place.path != "-":  # standard input is read once
            inside.setdefault(Place(place.path, place.members), set()).add(place)
    return dict(
        found for file, wanted in inside.items() for found in _of_file(file, wanted, limits)
    )


def _of_file(
    file: Place, wanted: set[Place], limits: Limits
) -> Iterator[tuple[Place, tuple[str, ...]]]:
    left = set(wanted)
    try:
        with opened(file.path, limits) as view:
            for stored in stored_in_file(view, file, ScanSettings(limits=limits)):
                if isinstance(stored, StoredModule) and stored.place in left:
                    left.remove(stored.place)
                    yield stored.place, _of_module(stored)
                if not left:
                    return
    except UnreadableInput:  # it is gone since it was judged: what was found stands without names
        return


def _of_module(stored: StoredModule) -> tuple[str, ...]:
    """Those of the first image that shows some: the images of a module are of one source."""
    for image in stored.images:
        found = describe(image, Detail(kernels=True))[0] if image.kind in _CODE else None
        if found is not None and found.kernels:
            return found.kernels
    return ()
