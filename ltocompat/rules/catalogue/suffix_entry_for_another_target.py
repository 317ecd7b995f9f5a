"""LTO-14: nvJitLink 13 takes an LTO-IR entry with a suffix for the targets of the suffix only."""

from __future__ import annotations

from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route
from ltocompat.rules import image_helpers
from ltocompat.rules.rule import Rule
from ltocompat.rules.selection import same_arch


def excludes(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """Where an entry with a suffix doesn't serve the target; LTO-03 speaks of lower targets."""
    arch = image.arch
    if route is not Route.LINK or image.kind is not ImageKind.LTOIR or arch is None:
        return None
    if not image.in_fatbin or same_arch(arch.number) > same_arch(gpu.arch.number):
        return None
    return image_helpers.not_this_one(image, gpu, route) or image_helpers.not_its_family(image, gpu)


RULE = Rule(
    id="LTO-14",
    title="LTO-IR entry with a suffix for another target",
    statement="Of a fatbin, nvJitLink from 13.0 on takes an LTO-IR entry for lto_XYa only for the "
    "target sm_XYa, and one for lto_XYf only within its family. A fatbin that has nothing else is "
    "invalid input for sm_XY. Before 13.0 the suffix made no difference.",
    condition="Every LTO-IR entry of a fatbin has a suffix, and the target of the link matches "
    "none.",
    evidence="The suffix in the fatbin entries.",
    verdict="fail",
    messages=(
        "NVJITLINK_ERROR_INVALID_INPUT",
        "ERROR_INVALID_INPUT (3)",
    ),
    remedy="Link for the target with the suffix (-arch=sm_120a), or add an entry without it "
    "(code=lto_75 serves all).",
    source="measured: 11 architectures with 17 targets on nvJitLink 12.0 to 13.5; cudf pull "
    "request 23506",
    excludes=excludes,
)
