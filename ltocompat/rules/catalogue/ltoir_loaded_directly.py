"""LTO-05: the driver links no LTO-IR by itself: a module of LTO-IR alone does not load."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Route, Verdict
from ltocompat.rules.constraints import Always
from ltocompat.rules.rule import Component, Requirement, Rule, Subject
from ltocompat.rules.selection import Missed


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for a module of LTO-IR alone that is loaded."""
    if subject.route is Route.LOAD and subject.missed is Missed.LTO_ONLY:
        yield Requirement(
            Component.NONE,
            Always(Verdict.FAIL),
            RULE.id,
            "LTO-IR alone",
            f"the driver doesn't link it ({_error(subject)})",
            "link it first: the application with nvJitLink when it runs, or the build with a "
            "device link (nvcc -dlto); or add SASS or PTX beside it",
            "kinds of the fatbin entries",
        )


def _error(subject: Subject) -> str:
    in_fatbin = any(image.in_fatbin for image in subject.signature.images)
    return "error 209, no kernel image" if in_fatbin else "error 200, invalid image"


RULE = Rule(
    id="LTO-05",
    title="LTO-IR alone, loaded directly",
    statement="LTO-IR is no code that a GPU runs, and the driver doesn't link it on its own. A "
    "module that holds nothing else has to be linked by somebody: by the application with "
    "nvJitLink when it runs, or by nvcc -dlto when it is built.",
    condition="The CUDA runtime or the driver loads a module whose images are all LTO-IR.",
    evidence="Kinds of the fatbin entries, and whether the module is registered.",
    verdict="fail (error 209; a bare LTO-IR file: 200)",
    messages=(
        "no kernel image is available for execution on the device",
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "cudaErrorNoKernelImageForDevice",
    ),
    remedy="Hand the module to nvJitLink and load what it returns; or link the objects with nvcc "
    "-dlto at build time; or add SASS or PTX (code=[lto_80,sm_80]).",
    source="nvcc guide 6.6.2; measured: error 209 on an H200 with driver 580.159.04",
    requirements=requirements,
)
