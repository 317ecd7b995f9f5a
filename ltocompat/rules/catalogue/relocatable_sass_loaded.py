"""SASS-08: a relocatable cubin loads, but what it leaves undefined is found missing later."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import ImageKind
from ltocompat.model.verdict import Verdict
from ltocompat.rules import image_helpers
from ltocompat.rules.constraints import Always
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for a relocatable cubin that nothing registers."""
    if subject.signature.registered:
        return
    for image in image_helpers.loaded(subject, ImageKind.SASS):
        if image.relocatable:
            yield Requirement(
                Component.NONE,
                Always(Verdict.UNKNOWN),
                RULE.id,
                "relocatable SASS",
                "it works only when no function is left undefined (else error 500 at "
                "cuModuleGetFunction)",
                "link it first: nvcc -dlink, nvlink or nvJitLink",
                "type ET_REL in the ELF header of the cubin",
            )


RULE = Rule(
    id="SASS-08",
    title="Relocatable cubin loaded as it is",
    statement="The driver loads a relocatable cubin (nvcc -rdc=true -cubin) without complaint. "
    "Where a function that it calls is in another object, cuModuleGetFunction fails.",
    condition="A relocatable cubin is handed to the driver without a device link.",
    evidence="The type in the ELF header of the cubin.",
    verdict="unknown",
    messages=(
        "named symbol not found",
        "CUDA_ERROR_NOT_FOUND",
    ),
    remedy="Link it first: nvcc -dlink, nvlink or nvJitLink.",
    source="measured: cuModuleLoadDataEx and cuModuleGetFunction on an H200 with driver 580.159.04",
    requirements=requirements,
)
