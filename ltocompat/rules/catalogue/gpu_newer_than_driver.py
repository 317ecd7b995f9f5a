"""DRV-03: a GPU needs a kernel driver that knows it."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.rules import image_helpers
from ltocompat.rules.constraints import KernelKnows
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One where something is picked for the GPU."""
    if subject.picked:
        gpu = image_helpers.real(subject.gpu)
        yield Requirement(
            Component.KERNEL,
            KernelKnows(subject.gpu.arch.number),
            RULE.id,
            gpu,
            "the driver doesn't know the GPU (this floor is derived from the first toolkit that "
            "targets it)",
            "use a newer driver",
            f"the first toolkit that targets {gpu}",
            "GPU and driver are newer than the tables",
        )


RULE = Rule(
    id="DRV-03",
    title="GPU newer than the driver",
    statement="A driver knows the GPUs that existed when its branch began, and cuda-compat adds "
    "none: the kernel driver has to know the GPU. NVIDIA publishes no list of first drivers; the "
    "floors are derived from the toolkit that first targets an architecture: branch 570 for sm_100 "
    "and sm_120, 575 for sm_103 and sm_121, 580 for sm_110, 615 for sm_107.",
    condition="The kernel driver is of an older branch than the first one for the GPU.",
    evidence="The compute capability of the GPU.",
    verdict="fail (derived); unknown for a GPU and a driver above the tables",
    messages=(
        "no CUDA-capable device is detected",
        "CUDA_ERROR_NO_DEVICE",
        "No devices were found",
    ),
    remedy="Use a newer driver.",
    source="derived: the driver of the first toolkit whose ptxas lists the architecture (ptxas "
    "--help of 16 toolkits)",
    requirements=requirements,
)
