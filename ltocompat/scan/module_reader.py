"""Modules with what decides about them: the second pass, over what the rules name of each module.

What matters to a verdict is not decided here: whose kernels and symbols to read is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from ltocompat.files.fatbin import StoredImage, StoredModule
from ltocompat.model.image import KERNEL_KINDS, Image, ImageKind, Module, Skipped
from ltocompat.model.signature import KernelsToCount, ModuleSignature, module_signature
from ltocompat.model.symbols import SymbolsToRead
from ltocompat.model.trial_answer import TrialKey, TrialOutcome, Trials
from ltocompat.scan.describe import (
    ReadOptions,
    describe,
    describe_module,
    does_more_than_return,
    hollow_cubins,
    sass_kernels,
)
from ltocompat.scan.second_pass import with_symbols

_LARGE = 16 << 10

# Modules of one innermost file with one signature and equal answers of linkers.
_Alike = tuple[tuple[str, ...], ModuleSignature, tuple[tuple[TrialKey, TrialOutcome], ...]]


# The images of a signature whose kernels and symbols the rules need.
ReadPlan = tuple[KernelsToCount, SymbolsToRead]


class PartialModule(Struct, frozen=True):
    """A module, read as far as it may affect verdicts.

    Attributes:
        picked: the module with the kernels of its picked images.
        looked: the module also with the kernels of images for which it is only asked whether any
            has kernels; None if that isn't asked.
        alike: the equal modules, for which that isn't asked any more once one has kernels.
        found: True if it has kernels.
    """

    picked: Module
    looked: Module | None = None
    alike: _Alike | None = None
    found: bool = False


class ModuleReader(Struct):
    """Reads the modules of one file in both passes.

    Once one module without code for a GPU has kernels, equal modules are not read for that
    question. Only modules of one innermost file count as equal, so that a library gets the same
    verdict alone and in a package. Only ``finish`` uses the memory of earlier modules, so another
    process can do ``describe``.

    Args:
        wanted: selects the images of a signature to read.
        detail: options of the first pass.
    """

    _wanted: Callable[[ModuleSignature], ReadPlan]
    _detail: ReadOptions
    _filled: set[_Alike] = field(default_factory=set)

    def describe(self, stored: StoredModule) -> tuple[PartialModule, Sequence[Skipped]]:
        """Return a module in both passes, and its unreadable images."""
        module, skipped = describe_module(stored, self._detail)
        return self.decide(stored, module), skipped

    def decide(
        self, stored: StoredModule, module: Module, trials: Trials | None = None
    ) -> PartialModule:
        """Return a described module with the required kernels and symbols.

        Args:
            stored: the module, whose bytes can be read.
            module: the module, described by its headers.
            trials: the answers of linkers and drivers to it.
        """
        signature = module_signature(module)
        kernels, symbols = self._wanted(signature)
        images: dict[int, Image] = {}
        for number in kernels.picked:
            image = module.images[number]
            if image.kernels is not None:
                images[number] = image
            elif not _surely_has_kernels(image):
                images[number] = _counted(stored.images[number], image)
        hollow = hollow_cubins(stored.images, kernels.picked)
        if hollow or any(image.empty_kernels for image in images.values()):
            code = (image for image in stored.images if image.entry.kind in KERNEL_KINDS)
            module = replace(module, guarded=any(map(does_more_than_return, code)))
        for number in hollow if module.guarded else ():
            image = images.get(number, module.images[number])
            images[number] = replace(image, empty_kernels=True)
        module = replace(module, guarded=module.guarded or _loses_kernels(stored, module, images))
        picked = with_symbols(stored, module, symbols, images)
        if not kernels.any_of:
            return PartialModule(picked)
        alike = module.place.members, signature, tuple((trials or {}).items())
        if alike in self._filled:
            return PartialModule(picked, None, alike)
        found = _any_kernels(stored, module, images, kernels.any_of)
        looked = with_symbols(stored, module, symbols, images)
        return PartialModule(picked, looked, alike, found)

    def finish(self, partial: PartialModule) -> Module:
        """Return the final module, once all earlier ones are finished."""
        if partial.looked is None or partial.alike in self._filled:
            return partial.picked
        if partial.found and partial.alike is not None:
            self._filled.add(partial.alike)
        return partial.looked


def _loses_kernels(stored: StoredModule, module: Module, read: dict[int, Image]) -> bool:
    """Return whether an image has no kernels and another has some that do more than return.

    Where one has none, all others are read but for large ones, which have some.
    """
    if all(image.kernels != () for image in read.values()):
        return False
    large = False
    for number, image in enumerate(module.images):
        if image.kind in KERNEL_KINDS and image.kernels is None and number not in read:
            large = large or _surely_has_kernels(image)
            if not _surely_has_kernels(image):
                read[number] = _counted(stored.images[number], image)
    known = (*module.images, *read.values())
    return large or any(image.kernels and not image.empty_kernels for image in known)


def _any_kernels(
    stored: StoredModule, module: Module, read: dict[int, Image], numbers: Sequence[int]
) -> bool:
    """Return whether one of these images has kernels; looks no further than to the first.

    Args:
        stored: the module.
        module: as it is described.
        read: images whose kernels were looked for; those that are looked at here are added.
        numbers: of the images in question.
    """
    for number in numbers:
        image = read.get(number, module.images[number])
        if _surely_has_kernels(image):
            return True
        if image.kernels is None:
            image = read[number] = _counted(stored.images[number], image)
        if image.kernels != ():  # None: they can't be read
            return True
    return False


def _counted(stored: StoredImage, image: Image) -> Image:
    """An image with the first of its kernels.

    Of a cubin nothing else is taken over: large ones of its signature are not read this far.
    """
    if image.kind is ImageKind.SASS:
        return replace(image, kernels=sass_kernels(stored, first=True))
    return describe(stored, ReadOptions(any_kernel=True))[0]


def _surely_has_kernels(image: Image) -> bool:
    """Return whether to leave a large cubin unread: its section names have constants of kernels.

    Without kernels, it may be large with tables of variables. A relocatable one may have functions
    of any size.
    """
    large = (image.stored_size or 0) > _LARGE
    return large and image.relocatable is False and image.kernel_set != 0
