"""From places to inputs of a link, with what lies in each."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from msgspec import Struct

from ltocompat.files.archives import container_of
from ltocompat.files.archives.archive import ArchiveFormat, is_thin
from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin import StoredImage, StoredModule
from ltocompat.files.objects import read_host
from ltocompat.model.errors import Malformed, UsageError
from ltocompat.model.image import Image, ImageKind, Skipped
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.place import Place
from ltocompat.scan import walk
from ltocompat.scan.describe import ReadOptions, describe, describe_module
from ltocompat.scan.extract_bytes import Cut, cut, images_at
from ltocompat.scan.filters import ImageFilter
from ltocompat.scan.walk import ScanSettings
from ltocompat.trial.values import InputKind, TrialInput

_KINDS = {
    "cubin": InputKind.CUBIN,
    "ptx": InputKind.PTX,
    "ltoir": InputKind.LTOIR,
    "fatbin": InputKind.FATBIN,
}


class Linkable(Struct, frozen=True):
    """One input of a link.

    Attributes:
        place: where it lies.
        trial: its bytes, as the linker gets them.
        images: what is in it.
    """

    place: Place
    trial: TrialInput
    images: tuple[Image, ...]

    @property
    def ltoir(self) -> tuple[Image, ...]:
        """Its LTO-IR images."""
        return tuple(image for image in self.images if image.kind is ImageKind.LTOIR)

    @property
    def plain(self) -> tuple[Image, ...]:
        """Its PTX and SASS images."""
        kinds = (ImageKind.PTX, ImageKind.SASS)
        return tuple(image for image in self.images if image.kind in kinds)


def gather(place: Place, settings: ScanSettings) -> Iterator[Linkable | Skipped]:
    """What lies at a place, in the largest pieces that a linker takes.

    An object or archive is one input, as a user would hand it to a linker; of anything else, every
    module is one, and a place that names an image is that image alone.

    Raises:
        UnreadableInput: the path can't be opened.
        UsageError: no device code lies there.
    """
    found = False
    for piece in walk.of_each_file(place, settings, functools.partial(_pieces, settings=settings)):
        found = True
        yield piece
    if not found:
        raise UsageError(f"no device code lies at {place}; list what does with: ltocompat inspect")


def gather_each(
    place: Place, settings: ScanSettings, where: ImageFilter | None = None
) -> Iterator[Linkable | Skipped]:
    """Every image at a place as an input of its own; with ``where`` only those that match.

    Raises:
        UnreadableInput: the path can't be opened.
    """
    for stored in images_at(place, settings):
        if isinstance(stored, Skipped):
            yield stored
        elif where is None or not where.kinds or stored.kind in where.kinds:
            image, unread = describe(stored, ReadOptions())
            if where is None or where.matches(image):
                yield _linkable(stored, image, unread)


def linkable(stored: StoredImage) -> Linkable | Skipped:
    """One image as an input, or why it can't be one."""
    return _linkable(stored, *describe(stored, ReadOptions()))


def _linkable(stored: StoredImage, image: Image, unread: Skipped | None) -> Linkable | Skipped:
    try:
        piece = cut(stored)
    except Malformed as error:
        return unread or Skipped(stored.place, str(error), stored.stored_size)
    trial = trial_input(str(stored.place), piece)
    if trial is None:
        return Skipped(stored.place, f"no linker takes {image.kind} code", stored.stored_size)
    return Linkable(stored.place, trial, (image,))


def trial_input(name: str, piece: Cut) -> TrialInput | None:
    """A piece as the linker gets it; None where it takes no such thing.

    Args:
        name: what the linker calls it in its messages.
        piece: as it was cut.
    """
    if piece.what not in _KINDS:
        return None
    # PTX is a C string to the library.
    data = piece.data + b"\0" if piece.what == "ptx" else piece.data
    return TrialInput(name, _KINDS[piece.what], data)


def _pieces(view: ByteView, place: Place, settings: ScanSettings) -> Iterator[Linkable | Skipped]:
    kind = _whole(view, place, settings.limits)
    images: list[Image] = []
    for stored in walk.stored_in_file(view, place, settings):
        if isinstance(stored, Skipped):
            yield stored
        elif isinstance(stored, StoredModule) and kind is not None:
            images += describe_module(stored, ReadOptions())[0].images
        elif isinstance(stored, StoredModule):
            yield from _module(stored, place)
    if kind is not None and images:
        trial = TrialInput(str(place), kind, view.all())
        yield Linkable(place, trial, tuple(images))


def _whole(view: ByteView, place: Place, limits: Limits) -> InputKind | None:
    """How a linker takes the whole file, None when it takes its pieces."""
    if place != Place(place.path):
        return None
    container = container_of(view)
    if container is not None:
        # What a thin archive names, no linker finds by its bytes.
        whole = isinstance(container, ArchiveFormat) and not is_thin(view)
        return InputKind.LIBRARY if whole else None
    host = read_host(view, Budget(limits))
    return InputKind.OBJECT if host is not None and host.type == "object" else None


def _module(module: StoredModule, wanted: Place) -> Iterator[Linkable | Skipped]:
    if module.region is None or wanted.entry or not module.images:
        yield from map(linkable, module.images)
        return
    trial = TrialInput(str(module.place), InputKind.FATBIN, module.region.all())
    described, _ = describe_module(module, ReadOptions())
    yield Linkable(module.place, trial, tuple(described.images))
