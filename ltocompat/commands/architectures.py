"""Tell which architectures device code is for, and which GPUs it serves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.commands.check import check
from ltocompat.commands.inspect import inspect
from ltocompat.commands.options import checked
from ltocompat.facts.gpus import find_gpu
from ltocompat.model.arch import ArchForm, SmArch
from ltocompat.model.image import ImageKind, Module, Skipped
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.target import Target
from ltocompat.model.verdict import Coverage, Result
from ltocompat.scan.sources import Source
from ltocompat.targets.arch_list import arch_list


class Architectures(Struct, frozen=True):
    """The architectures in a file, in ascending order, each with its number of images.

    Attributes:
        sass: architectures of SASS: ``sm_90a``.
        ptx: architectures of PTX: ``compute_90``.
        ltoir: architectures of LTO-IR: ``lto_90``.
        skipped: places that could not be read; their images are not counted.
    """

    sass: dict[SmArch, int]
    ptx: dict[SmArch, int]
    ltoir: dict[SmArch, int]
    skipped: tuple[Skipped, ...]


def architectures(source: Source, *, limits: Limits = DEFAULT_LIMITS) -> Architectures:
    """Count the images of each architecture, as ``cuobjdump -lelf -lptx`` lists them.

    The function reads only headers: a library of 100 MB takes a tenth of a second.

    Args:
        source: a file, folder, package, location, bytes or an open binary file.
        limits: upper limits on sizes, counts and time for reading one file.

    Raises:
        UnreadableInput: it can't be opened.
        UsageError: a given path or location does not exist.
    """
    counts: dict[ImageKind, Counter[SmArch]] = {kind: Counter() for kind in ImageKind}
    skipped: list[Skipped] = []
    for record in inspect(source, limits=limits):
        if isinstance(record, Skipped):
            skipped.append(record)
        elif isinstance(record, Module):
            for image in record.images:
                if image.arch is not None:
                    counts[image.kind][image.arch] += 1
    sass, ptx, ltoir = (
        dict(sorted(counts[kind].items()))
        for kind in (ImageKind.SASS, ImageKind.PTX, ImageKind.LTOIR)
    )
    return Architectures(sass, ptx, ltoir, tuple(skipped))


@checked
def serves(
    source: Source, archs: str | Sequence[str], *, limits: Limits = DEFAULT_LIMITS
) -> dict[SmArch, Coverage]:
    """Count, for each GPU architecture, the modules with SASS, PTX or linkable code for it.

    Args:
        source: a file, folder, package, location, bytes or an open binary file.
        archs: one or several texts that ``ltocompat audit --require-archs`` accepts:
            ``8.0;9.0+PTX``, ``75-real;90``, ``sm_90``, ``hopper``.
        limits: upper limits on sizes, counts and time for reading one file.

    Returns:
        For each architecture, the numbers of modules in all files together. ``coverage.served`` of
        the ``coverage.modules`` modules have code for such a GPU. The driver makes no difference.
        If modules can be loaded or linked, the numbers are for the route that works for more
        modules.

    Raises:
        UnreadableInput: it can't be opened.
        UsageError: an architecture is invalid, or a given path or location does not exist.
    """
    lists = [archs] if isinstance(archs, str) else archs
    wanted = dict.fromkeys(
        replace(arch, form=ArchForm.REAL) for text in lists for arch in arch_list(text)
    )
    target = Target(name="architectures", gpus=tuple(find_gpu(str(arch)) for arch in wanted))
    best: dict[tuple[str, SmArch], Result] = {}
    for result in check(source, target, floors=False, limits=limits):
        if result.gpu is not None:
            key = result.path, result.gpu.arch
            known = best.get(key, result)
            best[key] = max(known, result, key=lambda each: each.coverage.served)
    return {
        arch: _sum([result.coverage for (_, gpu), result in best.items() if gpu == arch])
        for arch in wanted
    }


def _sum(coverages: Sequence[Coverage]) -> Coverage:
    fields = Coverage.__struct_fields__
    return Coverage(*(sum(getattr(each, name) for each in coverages) for name in fields))
