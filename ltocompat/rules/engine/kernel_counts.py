"""Whose kernels to count: a picked image that has none harms nobody, whatever a rule says of it."""

from __future__ import annotations

from collections.abc import Iterable

from ltocompat.model.image import ImageKind
from ltocompat.model.signature import KernelsToCount, ModuleSignature
from ltocompat.model.target import Target
from ltocompat.model.verdict import Route, Verdict
from ltocompat.rules.engine.judge_module import judge, ways
from ltocompat.rules.selection import Missed, pick_for_driver


def kernels_to_count(
    signature: ModuleSignature, targets: Iterable[Target] | None, *, all_ptx: bool = False
) -> KernelsToCount:
    """Whose kernels decide about a verdict on these targets; None: about what is required of any.

    PTX that a driver would pick always does, and a cubin that lies in a file by itself; of other
    SASS only what a rule objects to, since reading the kernels of every cubin costs ten times as
    much as reading its headers. Of a module that is not for a GPU it decides whether it has any:
    compilers leave modules without kernels everywhere.

    Args:
        signature: of the module, as its headers show it.
        targets: where it may go.
        all_ptx: count those of all its PTX, so that what is required of any target can be said.
    """
    ptx = (n for n, image in enumerate(signature.images) if image.kind is ImageKind.PTX)
    if targets is None:
        return KernelsToCount(tuple(ptx), _code_images(signature))
    wanted = _for_targets(signature, targets)
    return wanted._replace(picked=tuple(sorted({*wanted.picked, *ptx}))) if all_ptx else wanted


def _for_targets(signature: ModuleSignature, targets: Iterable[Target]) -> KernelsToCount:
    if Route.LOAD not in ways(signature):
        return KernelsToCount()
    by_itself = signature.registered is None
    found: set[int] = set()
    missed = False
    for target in targets:
        for gpu in target.gpus:
            pick = pick_for_driver(signature, gpu.arch.number)
            missed = missed or pick.missed is Missed.NOT_FOR_GPU
            verdict = judge(signature, target, gpu, Route.LOAD, {}).verdict
            objected = (verdict or Verdict.OK) > Verdict.OK
            for image in pick.images:
                wanted = by_itself or objected or image.kind is ImageKind.PTX
                if image.has_kernels is None and wanted:
                    found.add(signature.images.index(image))
    return KernelsToCount(tuple(sorted(found)), _code_images(signature) if missed else ())


def _code_images(signature: ModuleSignature) -> tuple[int, ...]:
    """The images that show their kernels, the first of them first."""
    code = (ImageKind.SASS, ImageKind.PTX)
    return tuple(n for n, image in enumerate(signature.images) if image.kind in code)
