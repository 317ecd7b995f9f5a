"""DRV-04: newer drivers ignore GPUs that NVIDIA has dropped."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.rules import image_helpers
from ltocompat.rules.constraints import KernelStillServes
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One where something is picked for the GPU."""
    if subject.picked:
        yield Requirement(
            Component.KERNEL,
            KernelStillServes(subject.gpu.arch.number),
            RULE.id,
            image_helpers.real(subject.gpu),
            "newer drivers ignore the GPU, as if it were not there",
            "stay on the last branch that supports it",
            "the deprecation schedule of NVIDIA's drivers",
        )


RULE = Rule(
    id="DRV-04",
    title="GPU dropped by the driver",
    statement="Branch 470 is the last for Kepler (3.x), 580 for Maxwell, Pascal and Volta (5.x, "
    "6.x, 7.0, 7.2). Newer drivers don't see such a GPU, whatever the device code is.",
    condition="The kernel driver is of a newer branch than the last one for the GPU.",
    evidence="The compute capability of the GPU.",
    verdict="fail",
    messages=(
        "supported through the NVIDIA 580.xx Legacy drivers",
        "supported through the NVIDIA 470.xx Legacy drivers",
        "The 590.44.01 NVIDIA driver will ignore this GPU",
        "will ignore this GPU",
    ),
    remedy="Stay on the last branch that supports the GPU (580, a long-lived one, for Pascal and "
    "Volta).",
    source="NVIDIA UNIX driver deprecation schedule; nixos-hardware issue 1880",
    requirements=requirements,
)
