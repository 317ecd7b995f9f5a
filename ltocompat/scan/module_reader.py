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

_Alike = tuple[tuple[str, ...], ModuleSignature, tuple[tuple[TrialKey, TrialOutcome], ...]]
"""Modules of one innermost file that have a signature and that linkers treated alike."""


ReadPlan = tuple[KernelsToCount, SymbolsToRead]
"""The images of a signature whose kernels and symbols the rules ask for."""


class PartialModule(Struct, frozen=True):
    """A module, read as far as it may decide something.

    Attributes:
        picked: with the kernels of its picked images.
        looked: also with those of images that it is asked about whether any of them has kernels;
            None if nobody asks.
        alike: those that nobody asks any more, once one of them has kernels.
        found: it has kernels.
    """

    picked: Module
    looked: Module | None = None
    alike: _Alike | None = None
    found: bool = False


class ModuleReader(Struct):
    """Reads the modules of one file in both passes.

    Once a module that is not for a GPU turned out to have kernels, those that are alike are not
    read for that. Alike are only modules of one innermost file: a library is judged the same alone
    and in a package. What is remembered of those in front is held against in ``finish`` alone, so
    that ``describe`` may be done by another process.

    Args:
        wanted: says what to read of a signature.
        detail: what the first pass reads.
    """

    _wanted: Callable[[ModuleSignature], ReadPlan]
    _detail: ReadOptions
    _filled: set[_Alike] = field(default_factory=set)

    def fresh(self) -> ModuleReader:
        """Return a new describer for modules that others lie in front of."""
        return replace(self, _filled=set())

    def describe(self, stored: StoredModule) -> tuple[PartialModule, Sequence[Skipped]]:
        """A module in both passes, and which of its images can't be read."""
        module, skipped = describe_module(stored, self._detail)
        return self.decide(stored, module), skipped

    def decide(
        self, stored: StoredModule, module: Module, trials: Trials | None = None
    ) -> PartialModule:
        """A described module with what is wanted of it.

        Args:
            stored: the module, whose bytes can be read.
            module: as its headers describe it.
            trials: what linkers and drivers did with it.
        """
        signature = module_signature(module)
        kernels, symbols = self._wanted(signature)
        images: dict[int, Image] = {}
        for number in kernels.picked:
            image = module.images[number]
            if image.kernels is not None:
                images[number] = image
            elif not _surely_has_kernels(stored.images[number]):
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
        """The module as it counts, once all in front of it are finished."""
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
            large = large or _surely_has_kernels(stored.images[number])
            if not _surely_has_kernels(stored.images[number]):
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
        if _surely_has_kernels(stored.images[number]):
            return True
        image = read.get(number, module.images[number])
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


def _surely_has_kernels(stored: StoredImage) -> bool:
    """Return whether to leave a cubin unread: one without kernels has nothing to be large with."""
    return stored.entry.kind is ImageKind.SASS and (stored.entry.stored_size or 0) > _LARGE
