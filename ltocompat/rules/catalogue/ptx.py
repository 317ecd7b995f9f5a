"""PTX: which GPUs it is for, and what compiles it (PTX)."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.facts import ptx
from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Level, Route, Verdict
from ltocompat.rules import image_helpers, isas
from ltocompat.rules.catalogue.family import Family
from ltocompat.rules.constraints import Always, DriverOfCuda, LinkerFrom, LinkerNotOlderThan, Untold
from ltocompat.rules.rule import Component, Constraint, Problem, Requirement, Subject
from ltocompat.rules.selection import same_arch
from ltocompat.targets.machine.environment import Environment

FAMILY = Family("ptx")


@FAMILY.rule("PTX-01", Level.ERROR)
def ptx_newer_than_driver(subject: Subject) -> Iterator[Requirement]:
    """A driver compiles PTX up to the ISA version of its own CUDA release."""
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
            "PTX-01",
            isas.said(image),
            "the driver refuses it with error 222 (the provided PTX was compiled with an "
            "unsupported toolchain)",
            f"ship SASS for {image_helpers.real(subject.gpu)}, compile the PTX with the driver's "
            "toolkit, or turn it into a cubin without the driver (nvJitLink, nvPTXCompiler, "
            "NVRTC with an sm_ architecture)",
            isas.evidence(image),
            isas.doubt(image),
        )


@FAMILY.rule("PTX-02", Level.ERROR)
def ptx_newer_than_linker(subject: Subject) -> Iterator[Requirement]:
    """NvJitLink compiles PTX up to the ISA version of its own release."""
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
            "PTX-02",
            isas.said(image),
            "the linker can't compile it (NVJITLINK_ERROR_PTX_COMPILE)",
            "raise nvJitLink to the release of the PTX, or compile the PTX with the linker's "
            "toolkit",
            isas.evidence(image),
            isas.doubt(image),
        )


@FAMILY.excludes("PTX-03", Level.NOTE)
def ptx_above_gpu(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """PTX compiles for its own compute capability and higher ones."""
    del route
    arch = image.arch
    if image.kind is not ImageKind.PTX or arch is None or arch.suffix:
        return None
    if same_arch(arch.number) <= same_arch(gpu.arch.number):
        return None
    return f"is for sm_{arch.number} and newer"


@FAMILY.excludes("PTX-04", Level.NOTE)
def ptx_for_one_gpu(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """PTX with suffix a compiles for exactly one compute capability."""
    return image_helpers.not_this_one(image, gpu, route) if image.kind is ImageKind.PTX else None


@FAMILY.excludes("PTX-05", Level.NOTE)
def ptx_for_a_family(image: ImageSignature, gpu: Gpu, route: Route) -> str | None:
    """PTX with suffix f compiles for later GPUs of its family only."""
    del route
    return image_helpers.not_its_family(image, gpu) if image.kind is ImageKind.PTX else None


@FAMILY.rule("PTX-06", Level.NOTE)
def ptx_only(subject: Subject) -> Iterator[Requirement]:
    """Without SASS for a GPU the driver compiles PTX, when and if it can."""
    for _ in image_helpers.loaded(subject, ImageKind.PTX):
        gpu = image_helpers.real(subject.gpu)
        yield Requirement(
            Component.NONE,
            Always(Verdict.JIT),
            "PTX-06",
            "PTX alone",
            f"there is no SASS for {gpu}, so that the driver compiles the PTX when it loads",
            f"add SASS: -gencode arch=compute_{subject.gpu.arch.number},code={gpu}",
            "kinds and architectures of the fatbin entries",
        )


# Only PTX without a suffix, for the highest architecture, serves GPUs to come.
FAMILY.declare("PTX-07", Level.NOTE)


_NO_PTX = "CUDA_DISABLE_PTX_JIT"
_PTX_COMPILER = "libnvidia-ptxjitcompiler"


@FAMILY.of_machine("PTX-08", Level.WARNING)
def ptx_compiler_disabled(environment: Environment) -> Iterator[Problem]:
    """Where the driver may not or can't compile PTX, only SASS runs."""
    value = environment.variable(_NO_PTX)
    if value not in (None, "", "0"):
        yield Problem(
            "PTX-08",
            Verdict.UNKNOWN,
            f"{_NO_PTX}={value} forbids the driver to compile PTX: what is not SASS for the GPU "
            "fails with error 223",
            f"unset {_NO_PTX}, unless it is to prove that no PTX is needed",
            f"environment variable {_NO_PTX}",
        )
    driver = environment.user_driver
    if driver and not driver.is_compat and not driver.stub and _PTX_COMPILER in driver.missing:
        yield Problem(
            "PTX-08",
            Verdict.UNKNOWN,
            f"{driver.path} has no {_PTX_COMPILER} beside it: PTX fails with error 221",
            "install the whole driver (in containers: NVIDIA_DRIVER_CAPABILITIES with compute)",
            driver.real,
        )
