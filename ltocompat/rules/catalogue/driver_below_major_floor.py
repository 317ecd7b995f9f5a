"""DRV-01: SASS runs on drivers from the floor of its toolkit's major release on."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import ImageKind
from ltocompat.rules import floors, image_helpers, makers
from ltocompat.rules.catalogue import sass_of_13_below_580
from ltocompat.rules.constraints import DriverFrom, Untold
from ltocompat.rules.rule import Component, Constraint, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for SASS whose writer is known; SASS-07 speaks of what only CUDA 13 writes."""
    for image in image_helpers.loaded(subject, ImageKind.SASS):
        cuda = makers.writer(image)
        if cuda is None or sass_of_13_below_580.speaks_of(image):
            continue
        floor = floors.major(cuda.major)
        constraint: Constraint = Untold() if floor is None else DriverFrom(floor)
        consequence = (
            f"the tables name no least driver for CUDA {cuda.major}"
            if floor is None
            else f"below it nothing that CUDA {cuda.major} built is supported (error 35 of the "
            "runtime, or 200)"
        )
        yield Requirement(
            Component.DRIVER,
            constraint,
            RULE.id,
            f"SASS of CUDA {cuda.major}",
            consequence,
            f"update the driver, put cuda-compat in front of it where the GPU allows that, or "
            f"build with CUDA {cuda.major - 1}",
            makers.evidence(image),
        )


RULE = Rule(
    id="DRV-01",
    title="Driver below the floor of a CUDA major",
    statement="What a toolkit of one CUDA major built runs on every driver from a floor on: branch "
    "450 for 11.x, 525 for 12.x, 580 for 13.x (minor-version compatibility), and on all newer "
    "drivers (backward compatibility). Below the floor only cuda-compat helps.",
    condition="The driver is older than the floor of the major release that wrote the SASS.",
    evidence="The tool that wrote the cubin: e_version, tkinfo and cuinfo notes.",
    verdict="fail",
    messages=(
        "CUDA driver version is insufficient for CUDA runtime version",
        "cudaErrorInsufficientDriver",
        "cudaGetDeviceCount returned 35",
        "cudaGetDeviceCount returned 3",
        "CUDA_ERROR_INVALID_IMAGE",
    ),
    remedy="Update the driver; or put cuda-compat in front of it (data centre GPUs, Jetson); or "
    "build with a toolkit of the driver's major.",
    source="CUDA Compatibility guide, r615 edition, minor-version compatibility; patch levels: "
    "CUDA 13.1 release notes, table 2, and older editions",
    requirements=requirements,
)
