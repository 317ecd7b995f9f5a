"""IMG-01: of an image that contradicts itself or can't be read, nothing is certain."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.verdict import Verdict
from ltocompat.rules.constraints import Always
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for a picked image with a problem."""
    for image in subject.picked:
        if image.problem is not None:
            yield Requirement(
                Component.NONE,
                Always(Verdict.UNKNOWN),
                RULE.id,
                str(image),
                image.problem,
                "rebuild the file, or copy it again from where it came",
                "the bytes of the image",
            )


RULE = Rule(
    id="IMG-01",
    title="Image that contradicts itself or can't be read",
    statement="The driver and nvJitLink pick an image by its entry header, and have no second "
    "choice when the image turns out to be something else or damaged. What they make of it then "
    "is their own.",
    condition="The header of the picked entry says something else than the image, or the image "
    "can't be decoded.",
    evidence="The entry header and the image itself.",
    verdict="unknown",
    messages=("CUDA_ERROR_INVALID_SOURCE", "CUDA_ERROR_INVALID_IMAGE"),
    remedy="Rebuild the file, or copy it again from where it came.",
    source="measured: on driver 580.159.04 a corrupt cubin beside good PTX gives 200, a header "
    "that says sm_90 over an sm_80 cubin gives 300",
    requirements=requirements,
)
