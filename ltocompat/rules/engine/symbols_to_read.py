"""Whose symbols to read: what is loaded must leave nothing undefined; what is linked, in one link.

Reading them takes all bytes of an image, so that only those are read that can decide something.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.symbols import SymbolsToRead
from ltocompat.model.target import Target
from ltocompat.model.verdict import Route
from ltocompat.rules.engine.implied_gpus import gpus_to_judge
from ltocompat.rules.engine.ways import possible_ways
from ltocompat.rules.selection import pick_for_driver

_READABLE = (ImageKind.SASS, ImageKind.PTX)


def symbols_to_read(
    signature: ModuleSignature, targets: Iterable[Target] | None, *, one_link: bool = False
) -> SymbolsToRead:
    """Whose symbols decide about a verdict on these targets; None: about that on any.

    Args:
        signature: of the module, as its headers show it.
        targets: where it may go.
        one_link: all that can be linked is linked with each other.
    """
    images = signature.images
    linked = {image for image in set(images) if one_link and _can_be_linked(signature, image)}
    every = array("I", (n for n, image in enumerate(images) if image in linked))
    # What the CUDA runtime loads was linked by its own tool chain, and linkers leave nothing open.
    loose = Route.LOAD in possible_ways(signature) and not signature.registered
    left = {image for image in set(images) - linked if loose and _may_leave_open(image)}
    if left and targets is not None:
        gpus = {gpu.arch.number for target in targets for gpu in gpus_to_judge(target)}
        left &= {image for gpu in gpus for image in pick_for_driver(signature, gpu).images}
    undefined = array("I", (n for n, image in enumerate(images) if image in left))
    return SymbolsToRead(undefined, every)


def _may_leave_open(image: ImageSignature) -> bool:
    """Whether it may have undefined symbols, and shows them."""
    return image.kind is ImageKind.PTX or (image.kind is ImageKind.SASS and bool(image.relocatable))


def _can_be_linked(signature: ModuleSignature, image: ImageSignature) -> bool:
    """Whether a linker can be given this code: not what is registered, and linked already."""
    return image.kind in _READABLE and bool(image.relocatable or not signature.registered)
