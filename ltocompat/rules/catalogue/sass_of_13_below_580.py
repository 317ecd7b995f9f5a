"""SASS-07: cubins in the form of CUDA 13 are documented for drivers from 580 on."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature
from ltocompat.rules import floors, image_helpers
from ltocompat.rules.constraints import DriverFrom
from ltocompat.rules.rule import Component, Requirement, Rule, Subject

# From here on, CUDA 12.8 and 12.9 write the second generation already.
_BOTH_MAJORS = 100


def speaks_of(image: ImageSignature) -> bool:
    """Whether only CUDA 13 and later write such a cubin."""
    new = image.generation is not None and image.generation > 1
    return new and image.arch is not None and image.arch.number < _BOTH_MAJORS


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for a cubin of the second generation before sm_100."""
    for image in image_helpers.loaded(subject, ImageKind.SASS):
        if speaks_of(image):
            yield Requirement(
                Component.DRIVER,
                DriverFrom(floors.driver("generation-2-driver")),
                RULE.id,
                "SASS in the form of CUDA 13",
                "NVIDIA documents older drivers as unsupported (which was not measured)",
                "update the driver, or build with CUDA 12",
                "ELF ABI 8 in the header of the cubin",
            )


RULE = Rule(
    id="SASS-07",
    title="Cubin of CUDA 13 on an older driver",
    statement="CUDA 13 writes cubins of a new form (ELF ABI 8) for every architecture; CUDA 12.8 "
    "and 12.9 do so from sm_100 on. NVIDIA supports what CUDA 13 builds on drivers from 580 on. "
    "What older drivers make of it was not measured.",
    condition="A cubin of the new form for an architecture before sm_100, and a driver older than "
    "580.",
    evidence="The ABI version in the ELF header of the cubin.",
    verdict="fail (documented, not measured)",
    messages=("CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"),
    remedy="Update the driver to branch 580, or build with a toolkit of CUDA 12.",
    source="CUDA Compatibility guide, r615 edition; measured: which toolkits write ELF ABI 8",
    requirements=requirements,
)
