"""LTO-06: nvJitLink takes LTO-IR only with the option -lto."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import ImageKind
from ltocompat.model.verdict import Verdict
from ltocompat.rules import image_helpers
from ltocompat.rules.constraints import Always
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One where LTO-IR is linked."""
    for _ in image_helpers.linked(subject, ImageKind.LTOIR):
        yield Requirement(
            Component.OPTIONS,
            Always(Verdict.OK),
            RULE.id,
            "LTO-IR",
            "-lto must be given to the linker",
            "give -lto to nvJitLinkCreate (nvlink and nvcc: -dlto)",
            "kind of the image",
        )


RULE = Rule(
    id="LTO-06",
    title="LTO-IR linked without -lto",
    statement="nvJitLink takes LTO-IR only when it was created with -lto (-dlto of nvcc and "
    "nvlink). Of a fatbin with LTO-IR and SASS it then links the LTO-IR, and the SASS without the "
    "option.",
    condition="LTO-IR is linked; a file doesn't show which options its link will have.",
    evidence="Kind of the image.",
    verdict="ok: an option that the link needs",
    messages=(
        "LTO-IR input cannot be used without LTO enabled (-lto)",
        "ERROR_LTO_NOT_ENABLED (18)",
        "NVJITLINK_ERROR_LTO_NOT_ENABLED",
    ),
    remedy="Give -lto; some front ends (numba-cuda) drop it in debug builds.",
    source="nvJitLink.h; measured: result 18 from 13.0 on, unspecific results before; numba-cuda "
    "issue 696",
    requirements=requirements,
)
