"""PTX-01: a driver compiles PTX up to the ISA version of its own CUDA release."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.facts import ptx
from ltocompat.model.image import ImageKind
from ltocompat.rules import image_helpers, isas
from ltocompat.rules.constraints import DriverOfCuda, Untold
from ltocompat.rules.rule import Component, Constraint, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for PTX that the driver compiles."""
    for image in image_helpers.loaded(subject, ImageKind.PTX):
        cuda = None if image.isa is None else ptx.ptx_cuda(image.isa)
        constraint: Constraint = Untold()
        if cuda is not None:
            constraint = DriverOfCuda(cuda)
        elif isas.is_newer(image.isa):
            constraint = DriverOfCuda(isas.first_beyond())
        yield Requirement(
            Component.DRIVER,
            constraint,
            RULE.id,
            isas.said(image),
            "the driver refuses it with error 222 (the provided PTX was compiled with an "
            "unsupported toolchain)",
            f"ship SASS for {image_helpers.real(subject.gpu)}, compile the PTX with the driver's "
            "toolkit, or turn it into a cubin without the driver (nvJitLink, nvPTXCompiler, "
            "NVRTC with an sm_ architecture)",
            isas.evidence(image),
            isas.doubt(image),
        )


RULE = Rule(
    id="PTX-01",
    title="PTX newer than the driver",
    statement="The driver compiles PTX up to the ISA version that came with its own CUDA release. "
    "Minor-version compatibility covers SASS, not PTX. The library in front counts: cuda-compat "
    "brings its own compiler.",
    condition="PTX is what the driver picks, and its .version belongs to a newer CUDA release than "
    "the driver.",
    evidence="The .version of the PTX, which the fatbin entry repeats; not who wrote it.",
    verdict="fail (error 222); unknown for a driver above the tables",
    messages=(
        "the provided PTX was compiled with an unsupported toolchain",
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "cudaErrorUnsupportedPtxVersion",
        "Call to cuLinkAddData results in CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "Unsupported .version 9.1; current version is '9.0'",
        "ptxas application ptx input, line 9; fatal : Unsupported .version",
    ),
    remedy="Ship SASS for every GPU; or compile to a cubin without the driver: nvJitLink, "
    "nvPTXCompiler, NVRTC with an sm_ architecture; or compile with the toolkit of the oldest "
    "driver; or put cuda-compat in front where the GPU allows that.",
    source="table of PTX ISA versions in cuda.bindings 13.5.0; CUDA Compatibility guide, "
    "minor-version compatibility; measured: PTX 9.1 and newer gives 222 on driver 580.159.04",
    requirements=requirements,
)
