"""LTO-15: a linker makes code for the architectures in its list."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Route
from ltocompat.rules import image_helpers
from ltocompat.rules.constraints import LinkerTargets
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One where something is linked."""
    if subject.route is Route.LINK and subject.picked:
        target = image_helpers.real(subject.gpu)
        yield Requirement(
            Component.LINKER,
            LinkerTargets(subject.gpu.arch.number),
            RULE.id,
            f"the target {target}",
            "the linker makes no code for it",
            "use a linker of a release that has the target",
            f"architectures of ptxas, release by release: {target}",
        )


RULE = Rule(
    id="LTO-15",
    title="Target that the linker doesn't have",
    statement="A linker makes code for the architectures of its own toolkit: nvJitLink 13 has none "
    "before sm_75, nvJitLink 12.7 and older none from sm_100 on. That the driver still runs such "
    "a GPU doesn't help.",
    condition="The target of the link is not among the architectures of the linker's release.",
    evidence="The compute capability of the GPU, and the release of the linker.",
    verdict="fail",
    messages=(
        "NVJITLINK_ERROR_UNSUPPORTED_ARCH",
        "NVJITLINK_ERROR_UNRECOGNIZED_ARCH",
        "compute capability 7.0 is not supported on CUDA 13+",
        "Value 'sm_70' is not defined for option 'gpu-name'",
        "nvlink fatal : Value 'sm_70' is not defined for option 'arch'",
        "Unsupported gpu architecture 'compute_70'",
    ),
    remedy="For GPUs before 7.5 use CUDA 12 (up to 12.9), for newer GPUs the release that first "
    "has them.",
    source="measured: ptxas --help of 16 toolkits, links of nvJitLink 12.0 to 13.5; CUDA 13.1 "
    "release notes 2.5.2",
    requirements=requirements,
)
