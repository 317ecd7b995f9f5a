"""Whose kernels to count: a picked image that has none harms nobody, whatever a rule says of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ltocompat.model import ImageKind
from ltocompat.selection import Missed, pick_for_driver
from ltocompat.target import Target
from ltocompat.traits import Shape
from ltocompat.verdict import Route, Verdict
from ltocompat.verdicts.modules import judge, ways


def worth_counting(shape: Shape, targets: Iterable[Target]) -> Sequence[int]:
    """The numbers of a shape's images whose kernels decide about a verdict on these targets.

    Of a module that is not for a GPU one image tells whether it has any: compilers leave modules
    without kernels everywhere, and where nothing else is there, nothing is missing.

    PTX that a driver would pick always does; of SASS only what a rule objects to, since reading the
    kernels of every cubin costs ten times as much as reading its headers.
    """
    if Route.LOAD not in ways(shape):
        return ()
    found: set[int] = set()
    for target in targets:
        for gpu in target.gpus:
            pick = pick_for_driver(shape, gpu.arch.number)
            if pick.missed is Missed.NOT_FOR_GPU:
                found |= _one_to_count(shape)
            objected = judge(shape, target, gpu, Route.LOAD, {}).verdict
            for image in pick.images:
                ptx = image.kind is ImageKind.PTX
                if image.has_kernels is None and (ptx or (objected or Verdict.OK) > Verdict.OK):
                    found.add(shape.images.index(image))
    return sorted(found)


def _one_to_count(shape: Shape) -> set[int]:
    """The first image that shows its kernels, unless some were counted."""
    if any(image.has_kernels is not None for image in shape.images):
        return set()
    code = (ImageKind.SASS, ImageKind.PTX)
    return set([n for n, image in enumerate(shape.images) if image.kind in code][:1])
