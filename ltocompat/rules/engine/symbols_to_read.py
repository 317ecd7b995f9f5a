"""Images whose symbols are to be read, and images whose kernels are to be counted.

What is loaded must leave nothing undefined; what is linked, in one link. A picked image without
kernels serves nobody, and may harm nobody.

Reading them takes all bytes of an image, so that only those are read that can decide something.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from ltocompat.model.image import KERNEL_KINDS, ImageKind
from ltocompat.model.signature import ImageSignature, KernelsToCount, ModuleSignature
from ltocompat.model.symbols import SymbolsToRead
from ltocompat.model.target import Target
from ltocompat.model.verdict import Route
from ltocompat.rules.engine.implied_gpus import gpus_to_judge
from ltocompat.rules.engine.routes import own_target, possible_routes, routes
from ltocompat.rules.link_selection import pick_for_linker
from ltocompat.rules.selection import SelectionFailure, pick_for_driver


def symbols_to_read(
    signature: ModuleSignature, targets: Iterable[Target] | None, *, single_link: bool = False
) -> SymbolsToRead:
    """Choose the images whose symbols affect a verdict on these targets; None: on any.

    Args:
        signature: the signature of the module, from its headers.
        targets: the possible targets.
        single_link: True if all linkable code is linked together.
    """
    images = signature.images
    linked = {image for image in set(images) if single_link and _can_be_linked(signature, image)}
    every = array("I", (n for n, image in enumerate(images) if image in linked))
    # What the CUDA runtime loads was linked by its own tool chain, and linkers leave nothing open.
    loose = Route.LOAD in possible_routes(signature) and not signature.registered
    left = {image for image in set(images) - linked if loose and _may_leave_open(image)}
    if left and targets is not None:
        gpus = {gpu.arch.number for target in targets for gpu in gpus_to_judge(target)}
        left &= {image for gpu in gpus for image in pick_for_driver(signature, gpu).images}
    undefined = array("I", (n for n, image in enumerate(images) if image in left))
    return SymbolsToRead(undefined, every)


def _may_leave_open(image: ImageSignature) -> bool:
    """Return whether it may have undefined symbols, and shows them."""
    return image.kind is ImageKind.PTX or (image.kind is ImageKind.SASS and bool(image.relocatable))


def _can_be_linked(signature: ModuleSignature, image: ImageSignature) -> bool:
    """Return whether a linker can be given this code: what is registered is linked already."""
    waits = image.relocatable or image.prelinked or not signature.registered
    return image.kind in KERNEL_KINDS and bool(waits)


def kernels_to_count(
    signature: ModuleSignature, targets: Iterable[Target] | None
) -> KernelsToCount:
    """Choose the images whose kernels affect verdicts on these targets; None: on any.

    These are images that a driver picks, and SASS that a linker picks. For a module without code
    for a GPU, it matters whether it has any kernels, since compilers often write modules without
    kernels. Other targets in the list make no difference.

    Args:
        signature: the signature of the module, from its headers.
        targets: the possible targets.
    """
    if targets is None:
        code = _code_images(signature)
        return KernelsToCount(code, code)
    found: set[int] = set()
    missed = False
    for target in targets:
        found |= {signature.images.index(image) for image in _linked_sass(signature, target)}
        for gpu in gpus_to_judge(target) if Route.LOAD in routes(signature) else ():
            pick = pick_for_driver(signature, gpu.arch.number)
            missed = missed or pick.missed is SelectionFailure.NOT_FOR_GPU
            found |= {signature.images.index(image) for image in pick.images}
    picked = tuple(sorted(n for n in found if signature.images[n].kind in KERNEL_KINDS))
    return KernelsToCount(picked, _code_images(signature) if missed else ())


def _linked_sass(signature: ModuleSignature, target: Target) -> Iterator[ImageSignature]:
    """SASS that the target's linkers pick: some releases take it only without kernels.

    Whether a module waits for a device link is not known yet: its object shows it at its end.
    """
    if not any(image.kind is ImageKind.SASS and image.relocatable for image in signature.images):
        return
    linkers = {
        release for known in (target.nvjitlink, target.nvlink) if known for release in known.values
    }
    for gpu in gpus_to_judge(target) or filter(None, (own_target(signature),)):
        for linker in linkers:
            picked = pick_for_linker(signature, gpu.arch, linker, lto=target.lto).images
            yield from (image for image in picked if image.kind is ImageKind.SASS)


def _code_images(signature: ModuleSignature) -> tuple[int, ...]:
    """The images that show their kernels, the first of them first."""
    return tuple(n for n, image in enumerate(signature.images) if image.kind in KERNEL_KINDS)
