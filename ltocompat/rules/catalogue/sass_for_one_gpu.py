"""SASS-03: SASS with suffix a runs on exactly one compute capability."""

from __future__ import annotations

from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route
from ltocompat.rules import image_helpers
from ltocompat.rules.rule import Rule


def excludes(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """Where SASS for another GPU has the suffix."""
    return image_helpers.not_this_one(image, gpu, route) if image.kind is ImageKind.SASS else None


RULE = Rule(
    id="SASS-03",
    title="Architecture-specific SASS for another GPU",
    statement="SASS for sm_XYa runs on compute capability X.Y and on no other, not even on a "
    "higher minor of the same major: sm_90a is nothing for Blackwell. nvJitLink links it for the "
    "target sm_XYa.",
    condition="The SASS has suffix a and is for another compute capability than that of the GPU.",
    evidence="The suffix in the fatbin entry, else the flags and notes of the cubin.",
    verdict="not picked",
    messages=("no kernel image is available for execution on the device",),
    remedy="Add SASS for the GPU, or PTX without a suffix; use the suffix only for code that needs "
    "it.",
    source="nvcc guide 5.1 and 5.6; PTX ISA 9.1, .target",
    excludes=excludes,
)
