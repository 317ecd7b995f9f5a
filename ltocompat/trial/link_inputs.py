"""From places to inputs of a link, with what lies in each."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.files.archives import container_of
from ltocompat.files.archives.archive import self_contained
from ltocompat.files.byteview import ByteView
from ltocompat.files.fatbin import StoredImage, StoredModule
from ltocompat.files.first_bytes import is_ar
from ltocompat.files.objects import read_host
from ltocompat.model.arch import Release, SmArch
from ltocompat.model.errors import Malformed, UsageError
from ltocompat.model.image import PRELINKED_SECTIONS, Image, ImageKind, Module, Skipped
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.location import Location
from ltocompat.model.signature import ModuleSignature, module_signature
from ltocompat.model.verdict import Route
from ltocompat.rules.engine.routes import possible_routes
from ltocompat.rules.link_selection import pick_for_linker
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
_PLAIN = (ImageKind.PTX, ImageKind.SASS)
_READ = ReadOptions(kernels=True)


class LinkedModule(Struct, frozen=True):
    """A module of an input, as linkers see it.

    Attributes:
        module: the module with the names of its kernels.
        signature: its signature, which also shows whether linkers read it.
        alone: the module of an object as a separate input.
    """

    module: Module
    signature: ModuleSignature
    alone: TrialInput | None = None

    def picked(self, arch: SmArch, linker: Release, *, lto: bool = True) -> tuple[Image, ...]:
        """Return the images that a linker picks for a target, even if it can't read the module."""
        signature = self.signature
        picked = pick_for_linker(signature, arch, linker, lto=lto).images
        return tuple(self.module.images[signature.images.index(image)] for image in picked)


class LinkInput(Struct, frozen=True):
    """One input of a link: an object, an archive, a fatbin or a bare image.

    Attributes:
        place: its place.
        trial: its bytes for the linker; a thin archive has the bytes of its members inside.
        images: all its images; none in an object with host code only.
        modules: the modules of a link; for an object, only its relocatable code.
    """

    place: Location
    trial: TrialInput
    images: tuple[Image, ...]
    modules: tuple[LinkedModule, ...] = ()

    @property
    def ltoir(self) -> tuple[Image, ...]:
        """Its LTO-IR images."""
        return tuple(image for image in self.images if image.kind is ImageKind.LTOIR)

    @property
    def plain(self) -> tuple[Image, ...]:
        """Its PTX and SASS images."""
        return tuple(image for image in self.images if image.kind in _PLAIN)

    @property
    def goes(self) -> bool:
        """Return whether a link uses it, or may use it."""
        routes = [possible_routes(each.signature) for each in self.modules]
        return not routes or any(Route.LINK in route for route in routes)

    def regions(self, arch: SmArch, linker: Release, *, lto: bool = True) -> tuple[TrialInput, ...]:
        """Return the modules that a linker uses for a target, each as a separate input."""
        read = (each for each in self.modules if not each.signature.behind_first)
        used = [each.alone or self.trial for each in read if each.picked(arch, linker, lto=lto)]
        return tuple(used) if self.modules else (self.trial,)

    def read(self, arch: SmArch, linker: Release, *, lto: bool = True) -> tuple[Image, ...]:
        """Return the images that a linker uses from it for a target."""
        read = (each for each in self.modules if not each.signature.behind_first)
        return tuple(image for each in read for image in each.picked(arch, linker, lto=lto))


def of_single_link(inputs: Iterable[LinkInput]) -> list[LinkInput]:
    """Return the inputs of a link, without code that the runtime loads if there is other code."""
    given = list(inputs)
    return [each for each in given if each.goes] or given


def gather_all(texts: Iterable[str], settings: ScanSettings) -> list[LinkInput]:
    """Return the inputs of one link; none if a part of them can't be read.

    Args:
        texts: the paths, or places in them, as for ``link``.
        settings: settings for reading.

    Raises:
        UnreadableInput: a path can't be opened.
    """
    read = functools.partial(_pieces, settings=settings)
    places = map(settings.place_of, texts)
    found = [each for place in places for each in walk.of_each_file(place, settings, read)]
    inputs = [each for each in found if isinstance(each, LinkInput)]
    return of_single_link(inputs) if len(inputs) == len(found) else []


class SingleLink(Struct, frozen=True):
    """All inputs of one link, as a linker release reads them for a target.

    Attributes:
        inputs: the inputs in the linker's order.
        arch: the target.
        linker: its release.
        lto: True with ``-lto``, which accepts LTO-IR.
    """

    inputs: Sequence[LinkInput]
    arch: SmArch
    linker: Release
    lto: bool = True

    @property
    def kinds(self) -> set[ImageKind]:
        """The kinds of images that the linker uses from all inputs."""
        return {kind for each in self.inputs for kind in self._kinds(each)}

    @property
    def regions(self) -> list[TrialInput]:
        """The modules that the linker uses from all inputs, each as a separate input."""
        parts = (each.regions(self.arch, self.linker, lto=self.lto) for each in self.inputs)
        return [*chain.from_iterable(parts)]

    def _kinds(self, each: LinkInput) -> set[ImageKind]:
        return {image.kind for image in each.read(self.arch, self.linker, lto=self.lto)}

    @property
    def _modules(self) -> Iterator[tuple[LinkedModule, tuple[Image, ...]]]:
        for each in chain.from_iterable(input_.modules for input_ in self.inputs):
            yield each, each.picked(self.arch, self.linker, lto=self.lto)

    def kernels(self) -> tuple[str, ...]:
        """Return the kernels of the inputs, as far as their names are readable.

        For a module with code for the target, these are the target's kernels; for others, all
        kernels, which a linker that skips the module loses.
        """
        images = (image for each, picked in self._modules for image in picked or each.module.images)
        names = (name for image in images if image.kind in _PLAIN for name in image.kernels or ())
        return tuple(dict.fromkeys(names))

    def unread_ltoir(self) -> tuple[TrialInput, ...]:
        """Return LTO-IR for the target that linkers don't read at its place, as separate inputs."""
        return tuple(
            each.alone
            for each, picked in self._modules
            if each.alone is not None
            and each.signature.behind_first
            and any(image.kind is ImageKind.LTOIR for image in picked)
        )

    def ltoir_apart(self) -> tuple[TrialInput, ...]:
        """Return all LTO-IR, if none is in an object, and there is also PTX or SASS.

        nvlink 13.0 to 13.4 loses code compiled from it; 13.5 does not (measured).
        """
        taken = [(each.trial, self._kinds(each)) for each in self.inputs]
        ltoir = tuple(trial for trial, kinds in taken if ImageKind.LTOIR in kinds)
        beside = any(not kinds.isdisjoint(_PLAIN) for _, kinds in taken)
        in_objects = any(each.kind in (InputKind.OBJECT, InputKind.LIBRARY) for each in ltoir)
        return ltoir if beside and not in_objects else ()


_Inputs = Iterator[LinkInput | Skipped]


def gather(place: Location, settings: ScanSettings) -> _Inputs:
    """Yield the code at a place, in the largest pieces that a linker accepts.

    An object or archive is one input, as for a user's linker. In other files, every module is one
    input; a place of an image is only that image.

    Raises:
        UnreadableInput: the path can't be opened.
        UsageError: there is no device code.
    """
    found = False
    for piece in walk.of_each_file(place, settings, functools.partial(_pieces, settings=settings)):
        found = True
        yield piece
    if not found:
        raise no_code_at(place)


def no_code_at(place: Location) -> UsageError:
    """Return the error about a place without anything to link."""
    return UsageError(
        f"there is no device code at {place}; name LTO-IR, PTX, a fatbin, object or archive"
    )


def gather_each(place: Location, settings: ScanSettings, where: ImageFilter | None) -> _Inputs:
    """Yield every image at a place as a separate input; with ``where``, only matching images.

    Raises:
        UnreadableInput: the path can't be opened.
    """
    for stored in images_at(place, settings):
        if isinstance(stored, Skipped):
            yield stored
        elif where is None or not where.kinds or stored.entry.kind in where.kinds:
            known = describe(stored, _READ)
            if where is None or where.matches(known[0]):
                yield linkable(stored, known)


def linkable(
    stored: StoredImage, known: tuple[Image, Skipped | None] | None = None
) -> LinkInput | Skipped:
    """Return one image as an input, or why it can't be one; ``known``: its description."""
    image, unread = known or describe(stored, _READ)
    try:
        piece = cut(stored)
    except Malformed as error:
        return unread or Skipped(stored.entry.place, str(error), stored.entry.stored_size)
    trial = trial_input(str(stored.entry.place), piece)
    if trial is None:
        return Skipped(
            stored.entry.place, f"no linker accepts {image.kind} code", stored.entry.stored_size
        )
    module = Module(image.place, image.section, None, (image,))
    linked = LinkedModule(module, module_signature(module))
    return LinkInput(stored.entry.place, trial, (image,), (linked,))


def trial_input(name: str, piece: Cut) -> TrialInput | None:
    """Return a piece as the linker gets it; None if the linker accepts no such piece.

    Args:
        name: its name in the linker's messages.
        piece: the piece of the file.
    """
    if piece.what not in _KINDS:
        return None
    # PTX is a C string to the library.
    data = piece.data + b"\0" if piece.what == "ptx" else piece.data
    return TrialInput(name, _KINDS[piece.what], data)


def _pieces(view: ByteView, place: Location, settings: ScanSettings) -> _Inputs:
    whole = _whole(view, place, settings.limits)
    images: list[Image] = []
    modules: list[LinkedModule] = []
    seen: set[tuple[str, ...]] = set()
    for stored in walk.stored_in_file(view, place, settings):
        if isinstance(stored, Skipped):
            yield stored
        elif isinstance(stored, StoredModule) and whole is None:
            yield from _module(stored, place)
        elif isinstance(stored, StoredModule):
            module = describe_module(stored, _READ)[0]
            images += module.images
            if stored.section in PRELINKED_SECTIONS:
                hidden = module.place.members in seen  # linkers read the first region of an object
                seen.add(module.place.members)
                modules.append(_linked(stored, module, hidden=hidden))
    if whole is not None:  # linkers take an object without device code, and pass over it
        yield LinkInput(place, whole, tuple(images), tuple(modules))


def _whole(view: ByteView, place: Location, limits: Limits) -> TrialInput | None:
    """A file as a linker takes it whole, None when it takes its pieces."""
    if place != Location(place.path):
        return None
    if is_ar(view):
        data = self_contained(view, place, Budget(limits))
        return TrialInput(str(place), InputKind.LIBRARY, data)
    host = None if container_of(view) is not None else read_host(view, Budget(limits))
    if host is None or host.type != "object":
        return None
    return TrialInput(str(place), InputKind.OBJECT, view.all())


def _linked(stored: StoredModule, module: Module, *, hidden: bool = False) -> LinkedModule:
    signature = module_signature(module)
    if stored.section in PRELINKED_SECTIONS:
        signature = replace(signature, needs_device_link=not hidden, behind_first=hidden)
    alone = None
    if stored.section in PRELINKED_SECTIONS and stored.region is not None:
        alone = TrialInput(str(stored.place), InputKind.FATBIN, stored.region.all())
    return LinkedModule(module, signature, alone)


def _module(stored: StoredModule, wanted: Location) -> _Inputs:
    if stored.region is None or wanted.entry or not stored.images:
        yield from map(linkable, stored.images)
        return
    trial = TrialInput(str(stored.place), InputKind.FATBIN, stored.region.all())
    module = describe_module(stored, _READ)[0]
    yield LinkInput(stored.place, trial, tuple(module.images), (_linked(stored, module),))
