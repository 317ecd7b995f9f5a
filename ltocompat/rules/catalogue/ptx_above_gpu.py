"""PTX-03: PTX compiles for its own compute capability and higher ones."""

from __future__ import annotations

from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route
from ltocompat.rules.rule import Rule
from ltocompat.rules.selection import same_arch


def excludes(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """Where PTX is for newer GPUs."""
    del route
    arch = image.arch
    if image.kind is not ImageKind.PTX or arch is None or arch.suffix:
        return None
    if same_arch(arch.number) <= same_arch(gpu.arch.number):
        return None
    return f"is for sm_{arch.number} and newer"


RULE = Rule(
    id="PTX-03",
    title="PTX for newer GPUs",
    statement="PTX for compute_XY compiles for every GPU of compute capability X.Y or higher, of "
    "whatever major. Neither the driver nor nvJitLink picks it for an older GPU.",
    condition="The PTX is for a higher compute capability than the GPU.",
    evidence="The architecture in the fatbin entry, or the .target of the PTX.",
    verdict="not picked",
    messages=("SM version specified by .target is higher than default SM version assumed",),
    remedy="Add PTX for the lowest compute capability that has to work "
    "(-gencode arch=compute_XY,code=compute_XY).",
    source="PTX ISA 9.1, .target; measured: which entry a driver 580 picks of handmade fatbins",
    excludes=excludes,
)
