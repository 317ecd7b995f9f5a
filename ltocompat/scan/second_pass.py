"""Names of kernels and symbols, which are dear to read, for the few modules that need them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.files.archives.spool import MemberCache
from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin import StoredImage, StoredModule
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.errors import Malformed, UnreadableInput
from ltocompat.model.generic import grouped
from ltocompat.model.image import Image, ImageKind, Module
from ltocompat.model.image_table import gathered
from ltocompat.model.location import Location
from ltocompat.model.symbols import DeviceSymbols, SymbolsToRead
from ltocompat.scan.describe import ReadOptions, describe, image_bytes, sass_kernels, whole_cubin
from ltocompat.scan.walk import ScanSettings, opened, stored_in_file

# The wanted symbols of an image.
_NONE, _UNDEFINED, _ALL = range(3)


def give_kernels(
    summaries: Iterable[ArtifactSummary], names: Mapping[Location, ModuleKernels]
) -> None:
    """Store the kernels of modules, by their places, in their groups."""
    for group in chain.from_iterable(summary.groups for summary in summaries):
        if any(place in names for place in group.places):
            read = [names.get(place, _UNREAD) for place in group.places]
            group.kernels = [each.names for each in read]
            group.by_image = [each.by_image for each in read]


class ModuleKernels(Struct, frozen=True):
    """The kernels of a module.

    Attributes:
        names: mangled, each once.
        all_read: True if every image was read; LTO-IR and Tile IR show no names.
        by_image: the names of each image, if every image was read.
    """

    names: tuple[str, ...]
    all_read: bool
    by_image: tuple[frozenset[str], ...] = ()


_UNREAD = ModuleKernels((), all_read=False)


def kernel_names(
    wanted: Mapping[Location, bool], settings: ScanSettings, view: ByteView | None = None
) -> dict[Location, ModuleKernels]:
    """Return the kernels of the modules at these places, by place.

    Each innermost file is read once, up to the last of its places.

    Args:
        wanted: modules; True: every image is read. Else the first image with kernels is enough: a
            module's images come from one source, and mostly have the same kernels.
        settings: limits for reading one file, and the members that the first pass unpacked.
        view: the bytes of the one file with all places; None: open each file again.
    """
    kept, limits = settings.kept or MemberCache(), settings.limits
    names: dict[Location, ModuleKernels] = {}
    by_file = grouped((Location(place.path, place.members), place) for place in wanted)
    for file, places in by_file.items():
        if file.path == "-" and view is None:  # standard input is read once
            continue
        top, around = kept.around(file) or (Location(file.path), view)
        # Where it is gone since it was judged, what was found stands without it.
        opening = opened(file.path, limits) if around is None else nullcontext(around)
        with suppress(UnreadableInput), opening as inside:
            left = set(places)
            for stored in stored_in_file(inside, file, ScanSettings(limits=limits), top):
                if isinstance(stored, StoredModule) and stored.place in left:
                    left.remove(stored.place)
                    read = map(_kernels_of, stored.images)
                    every = wanted[stored.place]
                    names[stored.place] = kernels_of_module(read, every_image=every)
                if not left:
                    break
    return names


def kernels_of_module(
    images: Iterable[Sequence[str] | None], *, every_image: bool
) -> ModuleKernels:
    """Return the kernels of a module from those of its images, which are None if unreadable.

    Args:
        images: the kernels of each image.
        every_image: True to read them all; False to stop at the first image with kernels.
    """
    names: dict[str, str] = {}
    read: list[Sequence[str] | None] = []
    for kernels in images:
        read.append(kernels and [names.setdefault(name, name) for name in kernels])
        if names and not every_image:
            return ModuleKernels(tuple(names), all_read=False)
    by_image = tuple(frozenset(names if each is None else each) for each in read)
    return ModuleKernels(tuple(names), all_read=every_image and None not in read, by_image=by_image)


def _kernels_of(image: StoredImage) -> Sequence[str] | None:
    if image.entry.kind is ImageKind.SASS:
        return sass_kernels(image)
    if image.entry.kind is ImageKind.PTX:
        return describe(image, ReadOptions(kernels=True))[0].kernels
    return None


def with_symbols(
    stored: StoredModule, module: Module, wanted: SymbolsToRead, read: Mapping[int, Image]
) -> Module:
    """Return the module with the wanted symbols.

    Args:
        stored: the module, whose bytes can be read.
        module: its description.
        wanted: the images whose symbols are wanted.
        read: images that were read further since, by their numbers.
    """
    if not (read or wanted.undefined or wanted.every):
        return module
    images: Iterable[Image] = (
        read.get(number, image) for number, image in enumerate(module.images)
    )
    if wanted.undefined or wanted.every:
        images = map(_with_symbols, stored.images, images, _each(wanted, len(module.images)))
    return replace(module, images=gathered(images))


def _each(wanted: SymbolsToRead, count: int) -> bytearray:
    """Return the wanted symbols of each image."""
    parts = bytearray(count)
    for number in wanted.undefined:
        parts[number] = _UNDEFINED
    for number in wanted.every:
        parts[number] = _ALL
    return parts


def _with_symbols(stored: StoredImage, image: Image, part: int) -> Image:
    if part == _NONE or (part == _UNDEFINED and image.symbols is not None):
        return image  # PTX shows what it leaves undefined where its kernels are counted
    symbols = _symbols_of(stored)
    if part == _UNDEFINED and symbols is not None:
        symbols = symbols.without_definitions()
    return replace(image, symbols=symbols)


def _symbols_of(stored: StoredImage) -> DeviceSymbols | None:
    """The symbols of an image; None if they can't be read, as those of LTO-IR."""
    from ltocompat.scan.device_symbols import of_cubin, of_ptx  # late: most runs read no symbols

    with suppress(Malformed):  # which the first pass has told already, where it read that far
        if stored.entry.kind is ImageKind.PTX:
            return of_ptx(image_bytes(stored), stored.payload.budget)
        if stored.entry.kind is ImageKind.SASS:
            return of_cubin(whole_cubin(stored))
    return None
