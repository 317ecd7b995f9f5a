"""PTX-02: nvJitLink compiles PTX up to the ISA version of its own release."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.facts import ptx
from ltocompat.model.image import ImageKind
from ltocompat.rules import image_helpers, isas
from ltocompat.rules.constraints import LinkerFrom, LinkerNotOlderThan, Untold
from ltocompat.rules.rule import Component, Constraint, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for PTX that is linked."""
    for image in image_helpers.linked(subject, ImageKind.PTX):
        cuda = None if image.isa is None else ptx.ptx_cuda(image.isa)
        constraint: Constraint = Untold()
        if cuda is not None:
            constraint = LinkerFrom(cuda)
        elif isas.is_newer(image.isa):
            constraint = LinkerNotOlderThan((), isas.newest_release())
        yield Requirement(
            Component.LINKER,
            constraint,
            RULE.id,
            isas.said(image),
            "the linker can't compile it (NVJITLINK_ERROR_PTX_COMPILE)",
            "raise nvJitLink to the release of the PTX, or compile the PTX with the linker's "
            "toolkit",
            isas.evidence(image),
            isas.doubt(image),
        )


RULE = Rule(
    id="PTX-02",
    title="PTX newer than the linker",
    statement="nvJitLink compiles PTX up to the ISA version that came with its own release, of "
    "whatever major; the driver's version makes no difference.",
    condition="PTX is linked whose .version belongs to a newer CUDA release than nvJitLink.",
    evidence="The .version of the PTX, which the fatbin entry repeats; not who wrote it.",
    verdict="fail",
    messages=(
        "NVJITLINK_ERROR_PTX_COMPILE",
        "ERROR_PTX_COMPILE (4)",
        "Unsupported .version 9.5; current version is '9.4'",
        "ptxas application ptx input, line 9; fatal : Unsupported .version",
        "NVPTXCOMPILE_ERROR_UNSUPPORTED_PTX_VERSION",
    ),
    remedy="Raise nvJitLink to the release that brought the PTX ISA version, or compile the PTX "
    "with the toolkit of the oldest nvJitLink.",
    source="table of PTX ISA versions in cuda.bindings 13.5.0; measured: 5 compilers with all "
    "nvJitLinks 12.0 to 13.5, no exception",
    requirements=requirements,
)
