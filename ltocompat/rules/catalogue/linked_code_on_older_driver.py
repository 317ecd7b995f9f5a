"""LTO-10b: what a linker makes is code of the linker's CUDA major."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Route
from ltocompat.rules import floors
from ltocompat.rules.constraints import DriverFrom, Untold
from ltocompat.rules.rule import Component, Constraint, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for what a known linker makes of the module."""
    if subject.route is not Route.LINK or subject.linker is None or not subject.picked:
        return
    major = subject.linker.major
    name = "nvlink" if subject.offline else "nvJitLink"
    floor = floors.major(major)
    constraint: Constraint = Untold() if floor is None else DriverFrom(floor)
    consequence = (
        f"the tables name no least driver for CUDA {major}"
        if floor is None
        else f"what this linker makes is code of CUDA {major}, and NVIDIA documents older drivers "
        "as unsupported (which was not measured)"
    )
    yield Requirement(
        Component.DRIVER,
        constraint,
        RULE.id,
        f"code linked by {name} {major}.x",
        consequence,
        f"link with {name} of the driver's major, or update the driver",
        "release of the linker",
    )


RULE = Rule(
    id="LTO-10b",
    title="Linker of a newer major than the driver",
    statement="A linker writes cubins of its own release, whatever it was given. The result of "
    "nvJitLink 13 is code of CUDA 13, which needs a driver from 580 on (SASS-07).",
    condition="The driver is older than the floor of the linker's CUDA major.",
    evidence="The release of the linker.",
    verdict="fail (documented, not measured)",
    messages=("CUDA_ERROR_INVALID_IMAGE",),
    remedy="Link with an nvJitLink of the driver's major, or update the driver.",
    source="CUDA Compatibility guide, r615 edition; the linker of cuda.core minds the majors, too",
    requirements=requirements,
)
