"""FB-03: which drivers read concatenated fatbin entries is not known below CUDA 13.4."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.requirements import floors
from ltocompat.requirements.constraints_driver import DriverSureFrom
from ltocompat.requirements.rule import Axis, Requirement, Rule, Subject
from ltocompat.verdict import Route


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for a picked image that lies in a concatenated entry."""
    if subject.route is not Route.LOAD:
        return
    for image in subject.picked:
        if image.concatenated:
            yield Requirement(
                Axis.DRIVER,
                DriverSureFrom(floors.linker("concat-nvcc")),
                RULE.id,
                "a concatenated fatbin entry",
                "no document says which older drivers read it",
                "compile without --concat, or try it on the oldest driver",
                "fatbin entry that holds several images",
            )


RULE = Rule(
    id="FB-03",
    title="Concatenated fatbin entry on an older driver",
    statement="nvcc --concat (from 13.4 on) stores several images in one compressed entry. Which "
    "drivers before CUDA 13.4 read that is documented nowhere.",
    condition="The image that the driver picks lies in such an entry, and the driver is older than "
    "CUDA 13.4.",
    evidence="The fatbin entry holds several images.",
    verdict="unknown",
    messages=(),
    remedy="Compile without --concat, or try it on the oldest driver.",
    source="nvcc guide 13.4, 4.2.3.10",
    requirements=requirements,
)
