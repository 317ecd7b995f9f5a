"""The image of a module that the driver picks for a GPU; picks of linkers are beside.

It goes by entry headers, and there is no second choice: what is picked and then refused is an
error, whatever lies beside it. Source: measured with handmade fatbins on an H200 with driver
580.159.04.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.facts import gpus
from ltocompat.model.arch import SmArch
from ltocompat.model.generic import grouped
from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature, ModuleSignature


class SelectionFailure(enum.StrEnum):
    """A reason why no image of a module is picked."""

    NOT_FOR_GPU = "none of its images is for this GPU"
    LTO_ONLY = "it has only LTO-IR, which the driver doesn't link"
    EMPTY = "it holds no image"
    FINAL = "its SASS for this GPU is not relocatable, so linkers refuse it"
    GUARDED = "for this GPU, its kernels are missing or empty; for other GPUs, they do more"
    OTHER_KIND = "its only image for this GPU has a kind that ltocompat doesn't check"


class Selection(enum.StrEnum):
    """The kind of code that serves a GPU from a module, or why none does."""

    SASS = "sass"
    PTX = "ptx"
    LINK = "link"
    WITHOUT_KERNELS = "without kernels"
    DAMAGED = "damaged"
    UNREAD = "unread"
    OTHER_ROUTE = "other route"
    HOST = "host"
    NONE = "none"


SERVING = (Selection.SASS, Selection.PTX, Selection.LINK)
"""The kinds of code that serve a GPU, the best first."""


class Pick(Struct, frozen=True):
    """The picked images: one, or all that a link uses; or why there are none."""

    images: tuple[ImageSignature, ...]
    missed: SelectionFailure | None = None


def same_arch(number: int) -> int:
    """Return the current number of an architecture: CUDA 13.0 renamed sm_101 to sm_110."""
    return 110 if number == 101 else number


def runs(code: SmArch, gpu: int) -> bool:
    """Return whether SASS of an architecture runs on a GPU of a capability ``gpu`` (90 for 9.0).

    It runs on the same major from its minor on; ``a`` only on this one; ``f`` on its family.
    Source: CUDA C++ programming guide, binary compatibility ("not supported for Tegra"); nvcc guide
    5.1; for Tegra link trials; for Orin jax pull request 40492, vllm 19328, mmdeploy 601.
    """
    if code.suffix:
        return compiles(code, gpu)
    mine, number = same_arch(code.number), same_arch(gpu)
    if mine == number:
        return True
    if mine // 10 != number // 10 or mine > number:
        return False
    # Orin refuses code of discrete GPUs; whether these refuse Orin's code was not measured.
    integrated = gpus.is_tegra(number)
    return gpus.is_tegra(mine) == integrated or (number >= 80 and not integrated)


def compiles(code: SmArch, gpu: int) -> bool:
    """Return whether PTX or LTO-IR of an architecture can be compiled for a GPU.

    It can for this and newer ones; ``a`` only for this one; ``f`` for its family. Source: PTX ISA
    9.1, ``.target``.
    """
    mine, number = same_arch(code.number), same_arch(gpu)
    if code.suffix == "a":
        return mine == number
    if code.suffix == "f":
        return mine <= number and number in family(mine)
    return mine <= number


def family(number: int) -> frozenset[int]:
    """Return the architectures that run family-specific (``f``) code of this one, including it."""
    row = gpus.sm(number)
    return frozenset(map(same_arch, row.family)) if row else frozenset({number})


def pick_for_driver(signature: ModuleSignature, gpu: int) -> Pick:
    """Pick the image that the driver uses of a module that is loaded without a link."""
    if not signature.images:
        return Pick((), SelectionFailure.EMPTY)
    final = [image for image in signature.images if not image.prelinked]
    if signature.registered is not None and _integrated_only(final, gpu):
        # A library knows Orin from a desktop GPU: cuFFT 12.5 has 155 cubins for sm_87 alone.
        return Pick((), SelectionFailure.NOT_FOR_GPU)
    best = _driver_choice(final, gpu)
    if best is not None:
        guarded = best.has_kernels is False and signature.guarded
        return Pick((), SelectionFailure.GUARDED) if guarded else Pick((best,))
    # Measured: the driver links the stored objects again, each object's SASS rather than its PTX.
    # If one object has nothing for the GPU, all launches of the module fail (error 300).
    stored = ((image.prelinked, image) for image in signature.images if image.prelinked)
    relinked = [_driver_choice(images, gpu) for images in grouped(stored).values()]
    found = tuple(image for image in relinked if image is not None)
    whole = found and len(found) == len(relinked)
    return Pick(found) if whole else Pick((), _missed(signature, gpu))


def serving(signature: ModuleSignature, gpu: int) -> tuple[ImageSignature, ...]:
    """Return the images that serve a GPU of a module that is loaded without a link.

    Whether discrete GPUs refuse SASS of integrated ones was not measured. If they do, the driver
    picks of the rest, which serves as well.
    """
    picked = pick_for_driver(signature, gpu).images
    if gpus.is_tegra(gpu) or not any(map(_for_integrated, picked)):
        return picked
    rest = tuple(image for image in signature.images if not _for_integrated(image))
    return (*picked, *pick_for_driver(replace(signature, images=rest), gpu).images)


def _integrated_only(images: Iterable[ImageSignature], gpu: int) -> bool:
    """Return whether all that a discrete GPU could use was made for an integrated one."""
    found = [image for image in images if usable(image, gpu)]
    return bool(found) and not gpus.is_tegra(gpu) and all(map(_for_integrated, found))


def _for_integrated(image: ImageSignature) -> bool:
    arch = image.arch
    return image.kind is ImageKind.SASS and arch is not None and gpus.is_tegra(arch.number)


def _driver_choice(images: Iterable[ImageSignature], gpu: int) -> ImageSignature | None:
    """SASS for exactly this ``a`` target, else the highest SASS, then the same of PTX."""
    found = [image for image in images if usable(image, gpu)]
    discrete = not gpus.is_tegra(gpu)
    for kind in (ImageKind.SASS, ImageKind.PTX):
        # max gives the first of equals, as the driver does
        of_kind = [image for image in found if image.kind is kind]
        if discrete:
            # Which of sm_80 and sm_87 a desktop GPU gets was not measured; NVIDIA's libraries ship
            # both in one module for desktops, so that the documented one is taken to serve.
            of_kind = [image for image in of_kind if not _for_integrated(image)] or of_kind
        if of_kind:
            return max(of_kind, key=_rank)
    return None


def usable(image: ImageSignature, gpu: int) -> bool:
    """Return whether an image of SASS runs on a GPU, or another one compiles for it."""
    arch = image.picked_by
    if arch is None:
        return False
    return (runs if image.kind is ImageKind.SASS else compiles)(arch, gpu)


def _rank(image: ImageSignature) -> tuple[bool, int]:
    arch = image.picked_by
    return (False, 0) if arch is None else (arch.suffix == "a", same_arch(arch.number))


def _missed(signature: ModuleSignature, gpu: int) -> SelectionFailure:
    if signature.kinds == {ImageKind.LTOIR}:
        return SelectionFailure.LTO_ONLY
    others = (i for i in signature.images if i.kind in (ImageKind.TILEIR, ImageKind.UNKNOWN))
    if any(image.arch is None or compiles(image.arch, gpu) for image in others):
        return SelectionFailure.OTHER_KIND
    return SelectionFailure.NOT_FOR_GPU
