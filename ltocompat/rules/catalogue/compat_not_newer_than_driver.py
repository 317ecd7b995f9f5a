"""CMP-03: cuda-compat has to be of a newer branch than the kernel driver."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.rules.constraints_compat import CompatNewerThanKernel
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One where something is picked."""
    if subject.picked:
        yield Requirement(
            Component.COMPAT,
            CompatNewerThanKernel(),
            RULE.id,
            "cuda-compat",
            "a package that is no newer than the kernel driver keeps CUDA from starting (error "
            "803)",
            "leave cuda-compat away: the driver itself is new enough",
            "package and kernel driver of the target",
        )


RULE = Rule(
    id="CMP-03",
    title="cuda-compat no newer than the driver",
    statement="cuda-compat is for older kernel drivers. In front of a driver of its own branch or "
    "a newer one its libcuda doesn't fit the kernel module, even where the machine-readable note "
    "in the library lists that branch.",
    condition="The package is built from the branch of the kernel driver, or from an older one.",
    evidence="The package and the kernel driver of the target.",
    verdict="fail (error 803)",
    messages=(
        "Error 803: system has unsupported display driver / cuda driver combination",
        "system has unsupported display driver / cuda driver combination",
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "cudaErrorSystemDriverMismatch",
    ),
    remedy="Use the driver's own libcuda: take the compat folder out of LD_LIBRARY_PATH and "
    "ld.so.conf.d when the host is newer than the image.",
    source="CUDA Compatibility guide, forward compatibility, r615 edition; measured: 580.95.05 of "
    "cuda-compat over kernel driver 580.159.04 gives 803; vllm pull request 33992",
    requirements=requirements,
)
