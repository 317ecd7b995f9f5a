"""FB-01: drivers before CUDA 12.4 can't unpack fatbin entries with Zstandard."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import Compression
from ltocompat.model.verdict import Route
from ltocompat.rules import floors
from ltocompat.rules.constraints import DriverFrom
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for a picked image that the driver has to unpack."""
    if subject.route is not Route.LOAD:
        return
    for image in subject.picked:
        if image.compression is Compression.ZSTD:
            yield Requirement(
                Component.DRIVER,
                DriverFrom(floors.driver("zstd-driver")),
                RULE.id,
                f"{str(image.kind).upper()} compressed with Zstandard",
                "the driver can't unpack it (error 200, device kernel image is invalid)",
                "compile with --compress-mode=speed (LZ4) or none, or update the driver",
                "fatbin entry flag 0x8000",
            )


RULE = Rule(
    id="FB-01",
    title="Zstandard compression on an old driver",
    statement="Drivers before 550.54.14 (CUDA 12.4) can't unpack fatbin entries that are "
    "compressed with Zstandard, which nvcc 13.0 and later writes by default for PTX, and for "
    "everything with --compress-mode=size.",
    condition="The image that the driver picks is compressed with Zstandard, and the driver is "
    "older than 550.54.14.",
    evidence="Flag 0x8000 of the fatbin entry.",
    verdict="fail (error 200)",
    messages=(
        "device kernel image is invalid",
        "CUDA_ERROR_INVALID_IMAGE",
        "nvcc fatal : Unknown option '--compress-mode=size'",
    ),
    remedy="Compile with --compress-mode=speed or none (nvcc has the option from 12.8 on, and "
    "compresses with LZ4 before), or require driver 550.54.14.",
    source="nvcc guide 4.2.3.9; table of the least drivers by mode in rapids-cmake; "
    "ollama issue 16449",
    requirements=requirements,
)
