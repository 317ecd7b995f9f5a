"""SASS-04: SASS with suffix f runs on later GPUs of its family only."""

from __future__ import annotations

from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Route
from ltocompat.rules import image_helpers
from ltocompat.rules.rule import Rule


def excludes(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """Where SASS for another family, or for a later member of it, has the suffix."""
    del route
    return image_helpers.not_its_family(image, gpu) if image.kind is ImageKind.SASS else None


RULE = Rule(
    id="SASS-04",
    title="Family-specific SASS for another family",
    statement="SASS for sm_XYf runs on the GPUs of its family (10x: sm_100, sm_103, sm_107; 11x: "
    "sm_110; 12x: sm_120, sm_121) from X.Y on, and on no others.",
    condition="The SASS has suffix f, and the GPU is of another family or older.",
    evidence="The suffix in the fatbin entry, else the notes of the cubin.",
    verdict="not picked",
    messages=("no kernel image is available for execution on the device",),
    remedy="Add SASS for the GPU or its family, or PTX without a suffix.",
    source="nvcc guide 5.1; PTX ISA 9.1, table 58; measured with nvJitLink 13.5 (sm_107 as well)",
    excludes=excludes,
)
