"""GPUs that hardly anything is for, where another GPU is served by many times as much.

A library whose modules are split by architecture has a part of them for each GPU: what counts is
not how many of all modules are for a GPU, but how many are for the GPU that it serves best.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.facts import gpus
from ltocompat.facts.gpus import find_gpu
from ltocompat.model.arch import SmArch
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Finding, Level, Route
from ltocompat.rules.emitted import SLIVER_SERVED
from ltocompat.rules.engine.group_verdict import GroupVerdict, note
from ltocompat.rules.engine.picked_code import linked_code, loaded_code
from ltocompat.rules.engine.ways import ways

# The lowest part that a library has for a GPU that its documentation names is 36 modules beside 241
# (cuSPARSELt 0.8.1, sm_80); those with a tenth or less stand in the rule's source.
_PART = 10


class _Part(Struct, frozen=True):
    """How many modules are for an architecture."""

    arch: SmArch
    modules: int


def note_of_hardly_served(judged: Sequence[GroupVerdict], gpu: Gpu | None) -> Iterator[Finding]:
    """A note where a tenth of the modules that are for another GPU, or less, are for this one.

    Which modules have kernels is known of those that are for this GPU and of those that are not;
    which image of another GPU has them is not read for its sake.

    Args:
        judged: the modules of an artifact.
        gpu: the GPU; None where the target names none.
    """
    counted = [each for each in judged if not each.module_verdict.without_kernels]
    serving = [each for each in counted if each.for_gpu and each.module_verdict.how != "damaged"]
    here = sum(each.group.count for each in serving)
    if gpu is None or not here or here * _PART > sum(each.group.count for each in counted):
        return
    most = _greatest_part(tuple((each.group.signature, each.group.count) for each in counted))
    if here * _PART <= most.modules:
        number = f"{here:,} module{'s' * (here > 1)} with kernels {'are' if here > 1 else 'is'}"
        warning = note(
            SLIVER_SERVED,
            f"{number} for {gpu.arch}, and {most.modules:,} are for {most.arch}: "
            f"it was probably not built for {gpu.arch}",
            here,
            serving[0].group.example,
            "architectures in entry headers",
        )
        yield replace(warning, level=Level.WARNING)


_Modules = tuple[tuple[ModuleSignature, int], ...]


@functools.lru_cache(maxsize=8)  # the same for every target and GPU
def _greatest_part(modules: _Modules) -> _Part:
    gpus_in_use = (find_gpu(f"sm_{row.number}") for row in gpus.sms_in_use())
    return max((_part(modules, gpu) for gpu in gpus_in_use), key=lambda part: part.modules)


def _part(modules: _Modules, gpu: Gpu) -> _Part:
    return _Part(gpu.arch, sum(count for signature, count in modules if _serves(signature, gpu)))


def _serves(signature: ModuleSignature, gpu: Gpu) -> bool:
    """Whether some driver or linker picks code of a module for a GPU."""
    going = ways(signature)
    return bool(
        (Route.LOAD in going and loaded_code(signature, gpu).images)
        or (Route.LINK in going and linked_code(signature, gpu, None).images)
    )
