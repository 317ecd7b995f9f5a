"""Whose kernels to count: a picked image that has none serves nobody, and may harm nobody."""

from __future__ import annotations

from collections.abc import Iterable

from ltocompat.model.image import ImageKind
from ltocompat.model.signature import KernelsToCount, ModuleSignature
from ltocompat.model.target import Target
from ltocompat.model.verdict import Route
from ltocompat.rules.engine.judge_module import ways
from ltocompat.rules.selection import Missed, pick_for_driver


def kernels_to_count(
    signature: ModuleSignature, targets: Iterable[Target] | None, *, all_ptx: bool = False
) -> KernelsToCount:
    """Whose kernels decide about verdicts and coverage on these targets; None: on any.

    Those of what a driver picks. Of a module that is not for a GPU it decides whether it has any:
    compilers leave modules without kernels everywhere. It makes no difference what else is among
    the targets.

    Args:
        signature: of the module, as its headers show it.
        targets: where it may go.
        all_ptx: count those of all its PTX, so that what is required of any target can be said.
    """
    code = _code_images(signature)
    if targets is None:
        return KernelsToCount(code, code)
    wanted = _for_targets(signature, targets)
    ptx = (n for n in code if signature.images[n].kind is ImageKind.PTX)
    return wanted._replace(picked=tuple(sorted({*wanted.picked, *ptx}))) if all_ptx else wanted


def _for_targets(signature: ModuleSignature, targets: Iterable[Target]) -> KernelsToCount:
    if Route.LOAD not in ways(signature):
        return KernelsToCount()
    found: set[int] = set()
    missed = False
    for gpu in {gpu.arch.number for target in targets for gpu in target.gpus}:
        pick = pick_for_driver(signature, gpu)
        missed = missed or pick.missed is Missed.NOT_FOR_GPU
        found |= {signature.images.index(image) for image in pick.images}
    code = _code_images(signature)
    return KernelsToCount(tuple(sorted(found & {*code})), code if missed else ())


def _code_images(signature: ModuleSignature) -> tuple[int, ...]:
    """The images that show their kernels, the first of them first."""
    code = (ImageKind.SASS, ImageKind.PTX)
    return tuple(n for n, image in enumerate(signature.images) if image.kind in code)
