"""DRV-02: SASS of a newer minor than the driver's runs under minor-version compatibility."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import ImageKind
from ltocompat.rules import image_helpers, makers
from ltocompat.rules.constraints_driver import DriverOfWriter
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for SASS whose writer is known; it is never more than a note."""
    for image in image_helpers.loaded(subject, ImageKind.SASS):
        cuda = makers.writer(image)
        if cuda is None:
            continue
        yield Requirement(
            Component.DRIVER,
            DriverOfWriter(cuda),
            RULE.id,
            f"SASS of a newer CUDA {cuda.major} than the driver's",
            "this driver runs it under minor-version compatibility, which leaves out PTX of that "
            "release and functions that need a newer driver (error 36)",
            "ship SASS for every GPU, and guard calls of new functions",
            makers.evidence(image),
        )


RULE = Rule(
    id="DRV-02",
    title="SASS newer than the driver, within one major",
    statement="Within a CUDA major, a driver of an older minor runs the SASS of a newer toolkit. "
    "PTX of that toolkit doesn't load there, and functions that need a newer driver fail.",
    condition="The driver's CUDA release is of the same major as the toolkit and of an older "
    "minor.",
    evidence="The tool that wrote the cubin, and the CUDA release of the driver's branch.",
    verdict="ok, with a note",
    messages=(
        "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
        "cudaErrorCallRequiresNewerDriver",
        "API call is not supported in the installed CUDA driver",
    ),
    remedy="Ship SASS for every GPU that has to work, and guard calls of new functions.",
    source="CUDA Compatibility guide, r615 edition, minor-version compatibility; measured: cubins "
    "of 13.5 load and run on an H200 with driver 580.159.04",
    requirements=requirements,
)
