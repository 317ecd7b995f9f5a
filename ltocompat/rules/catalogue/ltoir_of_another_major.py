"""LTO-02: LTO-IR and its linker are promised to go together within one major release only."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import ImageKind
from ltocompat.model.verdict import Route
from ltocompat.rules import makers
from ltocompat.rules.constraints import FIRST_NVJITLINK, LinkerOfMajor
from ltocompat.rules.rule import Component, Requirement, Rule, Subject

_OTHER_WAY = "or ship PTX or relocatable SASS beside it, which link across majors"


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for each LTO-IR image that is linked."""
    if subject.route is not Route.LINK:
        return
    for image in subject.picked:
        releases = makers.ltoir_releases(image)
        if image.kind is not ImageKind.LTOIR or not releases:
            continue
        ancient = releases[-1] < FIRST_NVJITLINK
        consequence = (
            "nvJitLink has never linked it; only the driver's own JIT LTO did, which is deprecated"
            if ancient
            else "it links in every measured case, but NVIDIA promises it within a major only"
        )
        yield Requirement(
            Component.LINKER,
            LinkerOfMajor(releases),
            RULE.id,
            makers.said(image),
            consequence,
            f"compile the LTO-IR once for each major of nvJitLink, {_OTHER_WAY}",
            makers.evidence(image),
        )


RULE = Rule(
    id="LTO-02",
    title="LTO-IR of another major release than the linker",
    statement="NVIDIA documents LTO-IR to link within one major release. Measured, LTO-IR of 12.x "
    "links with every nvJitLink 13.x that is no older, and computes the right numbers; LTO-IR of "
    "11.x never links with nvJitLink.",
    condition="The compiler's major release is lower than the linker's.",
    evidence="The version in the header of LTO-IR, or the container version in the fatbin entry.",
    verdict="undocumented; fail for LTO-IR of 11.x",
    messages=("NVVM_ERROR_IR_VERSION_MISMATCH", "IR version 1.6 incompatible with current version"),
    remedy="Compile the LTO-IR once for each major, or ship PTX or relocatable SASS for the other "
    "majors: nvJitLink links those across majors.",
    source="nvJitLink guide, section 5, and nvcc guide 6.6.1 (same major); measured: links of 16 "
    "compilers with 32 nvJitLinks, and runs on an H200 with driver 580.159.04",
    requirements=requirements,
)
