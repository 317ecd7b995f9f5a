"""LTO-11: device debugging and link-time optimisation don't go together."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import ImageKind
from ltocompat.rules import image_helpers
from ltocompat.rules.constraints import Remark
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for LTO-IR with device debug information."""
    for image in image_helpers.linked(subject, ImageKind.LTOIR):
        if image.debug:
            yield Requirement(
                Component.NONE,
                Remark(),
                RULE.id,
                "LTO-IR with debug information",
                "it links, but nvcc refuses the combination, and some front ends drop -lto for it",
                "build without device debug information (-G), or without LTO",
                "debug flag of the image",
            )


RULE = Rule(
    id="LTO-11",
    title="LTO-IR with device debug information",
    statement="nvcc refuses -G together with -dlto. LTO-IR of NVRTC with debug information links "
    "with -g and without. numba-cuda turns LTO off in debug builds, and then LTO-IR from elsewhere "
    "no longer links (LTO-06).",
    condition="LTO-IR with device debug information is linked.",
    evidence="The debug flag of the fatbin entry.",
    verdict="ok, with a note",
    messages=(
        "nvcc fatal : Option --link-time-opt cannot be combined with --device-debug",
        "ERROR_LTO_NOT_ENABLED (18)",
    ),
    remedy="Build without -G, or without LTO.",
    source="measured: NVRTC and nvcc 12.0 to 13.5, nvJitLink 12.0 to 13.5; numba-cuda issues 194 "
    "and 696",
    requirements=requirements,
)
