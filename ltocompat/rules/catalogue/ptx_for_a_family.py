"""PTX-05: PTX with suffix f compiles for later GPUs of its family only."""

from __future__ import annotations

from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route
from ltocompat.rules import image_helpers
from ltocompat.rules.rule import Rule


def excludes(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """Where PTX for another family, or for a later member of it, has the suffix."""
    del route
    return image_helpers.not_its_family(image, gpu) if image.kind is ImageKind.PTX else None


RULE = Rule(
    id="PTX-05",
    title="Family-specific PTX for another family",
    statement="PTX for compute_XYf compiles for the GPUs of its family (10x: sm_100, sm_103, "
    "sm_107; 11x: sm_110; 12x: sm_120, sm_121) from X.Y on, and for no others.",
    condition="The PTX has suffix f, and the GPU is of another family or older.",
    evidence="The architecture in the fatbin entry, or the .target of the PTX.",
    verdict="not picked",
    messages=(
        "PTX with .target 'sm_100f' cannot be compiled to different SM-family architecture",
        "cannot be compiled to different SM-family architecture",
    ),
    remedy="Add PTX without a suffix, or one for each family.",
    source="PTX ISA 9.1, table 58; measured with nvJitLink 13.5 (sm_107 as well)",
    excludes=excludes,
)
