"""Which images of a module stay, and why each of the others goes.

What a driver takes of a module for a GPU is said by ``rules/selection.py``, as for every verdict:
what a kept GPU takes today stays, always.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ltocompat.model.arch import ArchForm, SmArch
from ltocompat.model.image import KERNEL_KINDS, ImageKind
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.slimmed import RemovalReason
from ltocompat.model.target import Gpu, System
from ltocompat.model.weight import Waste
from ltocompat.rules.selection import pick_for_driver, serving, usable
from ltocompat.rules.weight_advice import GPU_TO_COME, dead, known_numbers, loaded_as_it_is
from ltocompat.targets.gpu_groups import gpus_named

_WASTES = {Waste.NEVER_TAKEN: RemovalReason.NEVER_TAKEN, Waste.OTHER_CPU: RemovalReason.OTHER_CPU}
# The reason for removing each image of a module; None if it stays.
Reasons = tuple[RemovalReason | None, ...]


class Kept(Struct, frozen=True):
    """The images to keep; without GPUs and architectures, all images that some GPU uses.

    Attributes:
        gpus: capabilities of GPUs: 90 for 9.0.
        archs: images that are kept by their own architecture.
        ptx: True to keep PTX for future GPUs, too.
        dead: True to remove images that no GPU uses.
        copies: True to remove second copies.
    """

    gpus: tuple[int, ...] = ()
    archs: tuple[SmArch, ...] = ()
    ptx: bool = True
    dead: bool = True
    copies: bool = True

    @property
    def everything(self) -> bool:
        """Return whether it keeps all GPUs."""
        return not self.gpus and not self.archs and self.ptx


def reasons(module: ModuleSignature, *, kept: Kept, machine: str | None, linked: bool) -> Reasons:
    """Return the reason for removing each image; the caller makes sure that at least one stays.

    Args:
        module: the module.
        kept: the images to keep.
        machine: the CPU that its library is for; None if unknown.
        linked: True if its library is a linked file.
    """
    loaded = is_loaded(module, linked=linked)
    found: list[RemovalReason | None] = [None] * len(module.images)
    if kept.dead:
        wastes = dead(module, machine, linked=linked)
        found = [None if waste is None else _WASTES.get(waste) for waste in wastes]
    if not kept.everything:
        staying = _taken(module, kept) if loaded else _usable(module, kept)
        chosen = bool(kept.gpus or kept.archs)  # else what goes, goes whatever GPU would take it
        for number, reason in enumerate(found):
            stays = number in staying and (chosen or reason is None)
            found[number] = None if stays else reason or RemovalReason.OTHER_GPU
    if loaded and kept.copies:
        for number in {*range(len(found))} - _first_of_equals(module.images):
            found[number] = RemovalReason.SECOND_COPY
    # What is in no question at all: other kinds, and code whose architecture nothing tells.
    lto = any(arch.form is ArchForm.LTO for arch in kept.archs)
    for number, image in enumerate(module.images):
        named = image.kind is ImageKind.LTOIR and lto and found[number] is RemovalReason.OTHER_GPU
        in_question = named or (image.kind in KERNEL_KINDS and image.picked_by is not None)
        if (linked and image.prelinked) or not in_question:
            found[number] = None
    return tuple(found)


def gpus_of(texts: Iterable[str]) -> list[Gpu]:
    """Return the named GPUs: ``h100+l4``.

    Raises:
        UsageError: a name is not the name of a GPU.
    """
    names = "+".join(texts).replace(",", "+").split("+")
    return [gpu for name in names if name for gpu in gpus_named(name, System(), None)]


def is_loaded(module: ModuleSignature, *, linked: bool) -> bool:
    """Return whether a driver loads the module as it is, without a device link."""
    waiting = not linked and any(image.prelinked for image in module.images)
    return loaded_as_it_is(module) and not waiting


def _numbers(kept: Kept) -> tuple[int, ...]:
    """The GPUs whose picks stay: those named, else if no architecture is, all that are known."""
    named = kept.gpus or (() if kept.archs else known_numbers())
    known = tuple(number for number in named if number != GPU_TO_COME)
    return (*known, GPU_TO_COME) if kept.ptx else known


def _taken(module: ModuleSignature, kept: Kept) -> set[int]:
    """Numbers of the images that a driver takes, or that are kept by their architecture."""
    images = module.images
    picks = (serving(module, number) for number in _numbers(kept))
    taken = {images.index(image) for found in picks for image in found}
    return taken | {n for n, image in enumerate(images) if image.picked_by in kept.archs}


def _usable(module: ModuleSignature, kept: Kept) -> set[int]:
    """Numbers of the images that a linker could use for a kept GPU: what it makes is not known."""
    numbers = _numbers(kept)
    return {
        place
        for place, image in enumerate(module.images)
        if image.picked_by in kept.archs or any(usable(image, number) for number in numbers)
    }


def _first_of_equals(images: Sequence[ImageSignature]) -> set[int]:
    """Numbers of images with none in front that the same GPUs take, and a driver before them."""
    first: dict[tuple[object, ...], int] = {}
    for number, image in enumerate(images):
        first.setdefault((image.kind, image.picked_by, image.prelinked), number)
    return set(first.values())


def served(module: ModuleSignature, reasons_: Reasons) -> dict[int, tuple[bool, bool]]:
    """Return GPUs that lose code by the removal: (GPUs without code, GPUs that compile PTX)."""
    pairs = zip(module.images, reasons_, strict=True)
    rest = tuple(image for image, reason in pairs if reason is None)
    after = ModuleSignature(rest, module.registered)
    found: dict[int, tuple[bool, bool]] = {}
    for number in known_numbers()[:-1]:  # but GPUs to come
        had, has = (pick_for_driver(each, number).images for each in (module, after))
        if had and had != has:
            to_ptx = bool(has) and had[0].kind is ImageKind.SASS and has[0].kind is ImageKind.PTX
            found[number] = (not has, to_ptx)
    return {number: loss for number, loss in found.items() if any(loss)}
