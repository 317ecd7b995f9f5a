"""LTO-03: LTO-IR links for its own architecture and higher ones."""

from __future__ import annotations

from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route
from ltocompat.rules import image_helpers
from ltocompat.rules.rule import Rule
from ltocompat.rules.selection import same_arch


def excludes(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """Where LTO-IR is for newer GPUs than the target of the link."""
    arch = image.arch
    if route is not Route.LINK or image.kind is not ImageKind.LTOIR or arch is None:
        return None
    if same_arch(arch.number) <= same_arch(gpu.arch.number):
        return None
    return f"links for sm_{arch.number} and newer, not for {image_helpers.real(gpu)}"


RULE = Rule(
    id="LTO-03",
    title="LTO-IR newer than the target architecture",
    statement="LTO-IR for lto_XY links for targets of compute capability X.Y or higher, of "
    "whatever major. nvJitLink 12.0 and 12.1 don't check this, but their output is no better for "
    "it.",
    condition="The LTO-IR is for a higher compute capability than the target of the link.",
    evidence="The architecture in the fatbin entry or in the header of the LTO-IR.",
    verdict="fail",
    messages=(
        "LTOIR arch newer than target arch",
        "ERROR 89 in LTOIR arch newer than target arch",
        "ERROR NVVM_ERROR not found (90) in LTOIR arch newer than target arch",
        "NVJITLINK_ERROR_ARCH_MISMATCH",
    ),
    remedy="Compile the LTO-IR once, for the lowest architecture that has to work "
    "(-gencode arch=compute_75,code=lto_75): it links for all higher ones.",
    source="nvJitLink guide, section 5; measured: refused from 12.2 on, not checked by 12.0 and "
    "12.1; SimLOD issue 9",
    excludes=excludes,
)
