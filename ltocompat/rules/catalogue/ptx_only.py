"""PTX-06: without SASS for a GPU the driver compiles PTX, when and if it can."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import ImageKind
from ltocompat.model.verdict import Verdict
from ltocompat.rules import image_helpers
from ltocompat.rules.constraints import Always
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for PTX that the driver compiles."""
    for _ in image_helpers.loaded(subject, ImageKind.PTX):
        gpu = image_helpers.real(subject.gpu)
        yield Requirement(
            Component.NONE,
            Always(Verdict.JIT),
            RULE.id,
            "PTX alone",
            f"there is no SASS for {gpu}, so that the driver compiles the PTX when it loads",
            f"add SASS: -gencode arch=compute_{subject.gpu.arch.number},code={gpu}",
            "kinds and architectures of the fatbin entries",
        )


RULE = Rule(
    id="PTX-06",
    title="PTX only for this GPU",
    statement="Where a module has no SASS for a GPU, the driver compiles its PTX at load: the "
    "first start takes longer, and drivers older than the PTX refuse it (PTX-01). One such module "
    "in a process can fail other libraries, too.",
    condition="The driver picks PTX for the GPU.",
    evidence="Kinds and architectures of the fatbin entries.",
    verdict="jit",
    messages=(
        "the provided PTX was compiled with an unsupported toolchain",
        "cudaErrorUnsupportedPtxVersion",
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "PTX JIT compilation was disabled",
        "CUDA_ERROR_JIT_COMPILATION_DISABLED",
        "PTX JIT compiler library not found",
    ),
    remedy="Add SASS for the GPU (-gencode arch=compute_XY,code=sm_XY), or compile to a cubin at "
    "run time with NVRTC or nvJitLink.",
    source="CUDA Compatibility guide, minor-version compatibility; cucim issue 170",
    requirements=requirements,
)
