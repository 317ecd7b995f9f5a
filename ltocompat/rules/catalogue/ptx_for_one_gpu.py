"""PTX-04: PTX with suffix a compiles for exactly one compute capability."""

from __future__ import annotations

from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route
from ltocompat.rules import image_helpers
from ltocompat.rules.rule import Rule


def excludes(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """Where PTX for another GPU has the suffix."""
    return image_helpers.not_this_one(image, gpu, route) if image.kind is ImageKind.PTX else None


RULE = Rule(
    id="PTX-04",
    title="Architecture-specific PTX for another GPU",
    statement="PTX for compute_XYa uses instructions of one architecture. It compiles for the GPU "
    "of compute capability X.Y and for no other, newer ones included; nvJitLink needs the target "
    "sm_XYa.",
    condition="The PTX has suffix a and is for another compute capability than that of the GPU.",
    evidence="The architecture in the fatbin entry, or the .target of the PTX.",
    verdict="not picked",
    messages=(
        "PTX with .target 'sm_90a' cannot be compiled for architecture 'sm_90'",
        "Program with .target 'sm_90a' cannot be compiled to future architecture",
        "cannot be compiled for architecture",
        "cannot be compiled to future architecture",
    ),
    remedy="Add PTX without the suffix (or with f for a family), and use the suffix only for code "
    "that needs it.",
    source="PTX ISA 9.1, .target; measured with nvJitLink 13.5",
    excludes=excludes,
)
