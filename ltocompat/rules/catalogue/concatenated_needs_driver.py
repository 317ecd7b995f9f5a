"""FB-03: which drivers read concatenated fatbin entries is not known below CUDA 13.4."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Route
from ltocompat.rules import floors
from ltocompat.rules.constraints_driver import DriverSureFrom
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for a picked image that lies in a concatenated entry."""
    if subject.route is not Route.LOAD:
        return
    for image in subject.picked:
        if image.concatenated:
            yield Requirement(
                Component.DRIVER,
                DriverSureFrom(floors.linker("concat-nvcc"), floors.linker("concat-unseen")),
                RULE.id,
                "a concatenated fatbin entry",
                "the driver doesn't see the images in it (error 209, unless another one serves)",
                "compile without --concat",
                "fatbin entry that holds several images",
                "no document says which drivers before that see the images in it",
            )


RULE = Rule(
    id="FB-03",
    title="Concatenated fatbin entry on an older driver",
    statement="nvcc --concat (from 13.4 on) stores several images in one compressed entry. Driver "
    "580 does not see them: it takes another image, such as PTX, or finds none. Which drivers "
    "between 580 and that of CUDA 13.4 see them is documented nowhere.",
    condition="The image that the driver would pick lies in such an entry, and the driver is older "
    "than CUDA 13.4.",
    evidence="The fatbin entry holds several images.",
    verdict="fail up to 580 where nothing else serves; unknown for 590 to 610",
    messages=(),
    remedy="Compile without --concat.",
    source="nvcc guide 13.4, 4.2.3.10; measured: SASS for sm_90 in such an entry gives 209, or 222 "
    "by the newer PTX beside it, on an H100 with driver 580.159.04",
    requirements=requirements,
)
