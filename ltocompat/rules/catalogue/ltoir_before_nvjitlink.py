"""LTO-09: LTO-IR of CUDA 11 is for the driver's own linker, LTO-IR from 12.0 on for nvJitLink."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import ImageKind
from ltocompat.rules import image_helpers, makers
from ltocompat.rules.constraints import FIRST_NVJITLINK, Remark
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for LTO-IR that is older than nvJitLink."""
    for image in image_helpers.linked(subject, ImageKind.LTOIR):
        releases = makers.ltoir_releases(image)
        if releases and releases[-1] < FIRST_NVJITLINK:
            yield Requirement(
                Component.NONE,
                Remark(),
                RULE.id,
                makers.said(image),
                "only cuLinkAddData of a driver links it (CU_JIT_LTO, deprecated)",
                "compile the LTO-IR with CUDA 12.0 or later and link it with nvJitLink",
                makers.evidence(image),
            )


RULE = Rule(
    id="LTO-09",
    title="LTO-IR and the driver's linker",
    statement="The driver's own linker (cuLinkAddData with CU_JIT_LTO or CU_JIT_INPUT_NVVM) is "
    "deprecated and takes no LTO-IR of 12.0 or later: that is for nvJitLink. LTO-IR of 11.x is for "
    "the driver alone, and nvJitLink links none of it.",
    condition="LTO-IR of 11.x is linked, or LTO-IR of 12.0 or later is handed to cuLinkAddData.",
    evidence="The version in the header of LTO-IR, or the container version in the fatbin entry.",
    verdict="ok, with a note; LTO-02 says fail for nvJitLink",
    messages=(
        "CU_JIT_INPUT_NVVM",
        "CU_JIT_LTO",
        "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
        "PTX JIT compiler library not found",
    ),
    remedy="Compile the LTO-IR with CUDA 12.0 or later, and link it with nvJitLink.",
    source="cuda.h (CU_JIT_LTO); measured: cuLinkAddData on driver 580.159.04 without "
    "libnvidia-nvvm answers 221 to LTO-IR of every release",
    requirements=requirements,
)
