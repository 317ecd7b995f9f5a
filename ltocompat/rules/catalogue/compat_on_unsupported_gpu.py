"""CMP-02: cuda-compat works on data centre GPUs, some workstation GPUs and Jetson only."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.rules.constraints_compat import CompatOnSupportedGpu
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One where something is picked."""
    if subject.picked:
        yield Requirement(
            Component.COMPAT,
            CompatOnSupportedGpu(),
            RULE.id,
            "cuda-compat",
            "it is for data centre GPUs, NGC-ready RTX and Jetson, and keeps CUDA from starting on "
            "others (error 804)",
            "take cuda-compat out of the library path and update the driver instead",
            "name of the GPU",
        )


RULE = Rule(
    id="CMP-02",
    title="cuda-compat on a GPU that it isn't made for",
    statement="Forward compatibility is for data centre GPUs, NGC-ready RTX workstation GPUs and "
    "Jetson. On a GeForce, CUDA doesn't start at all while the libcuda of cuda-compat is found "
    "first.",
    condition="cuda-compat is in front of the driver, and the GPU is none of these.",
    evidence="The name of the GPU; an sm_ number alone doesn't always tell.",
    verdict="fail (error 804); unknown where the name of the GPU doesn't tell",
    messages=(
        "Error 804: forward compatibility was attempted on non supported HW",
        "forward compatibility was attempted on non supported HW",
        "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        "cudaErrorCompatNotSupportedOnDevice",
    ),
    remedy="Take the compat folder out of LD_LIBRARY_PATH and ld.so.conf.d, and update the driver "
    "instead.",
    source="CUDA Compatibility guide, forward compatibility, r615 edition; nvidia-docker issue "
    "1294",
    requirements=requirements,
)
