"""LTO-04: LTO-IR with a suffix links for other targets only without suffix-only instructions."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.arch import SmArch
from ltocompat.model.image import ImageKind
from ltocompat.model.verdict import Verdict
from ltocompat.rules import image_helpers
from ltocompat.rules.constraints import Always
from ltocompat.rules.rule import Component, Requirement, Rule, Subject
from ltocompat.rules.selection import same_arch


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One for LTO-IR with a suffix that the target doesn't match."""
    for image in image_helpers.linked(subject, ImageKind.LTOIR):
        if image.arch is None or _matches(image.arch, subject.link_target):
            continue
        yield Requirement(
            Component.NONE,
            Always(Verdict.UNKNOWN),
            RULE.id,
            f"LTO-IR {image.arch} for {subject.link_target}",
            "it links only when it uses no instruction that needs the suffix: a trial link decides",
            f"link for {_fitting(image.arch)}, or compile LTO-IR without the suffix",
            "architecture of the image",
        )


def _matches(code: SmArch, target: SmArch) -> bool:
    if code.suffix == "a":
        return target.suffix == "a" and same_arch(code.number) == same_arch(target.number)
    return code.suffix != "f" or image_helpers.in_family(code, target.number)


def _fitting(code: SmArch) -> str:
    return f"sm_{code.number}a" if code.suffix == "a" else image_helpers.served(code)


RULE = Rule(
    id="LTO-04",
    title="LTO-IR with a suffix for another target",
    statement="NVIDIA's documents say that LTO-IR for an architecture with a suffix never links "
    "for another target. Measured, it links when it uses none of the instructions that need the "
    "suffix, and fails in nvJitLinkComplete when it does. No header tells which.",
    condition="LTO-IR for lto_XYa and a target other than sm_XYa, or for lto_XYf and a target "
    "outside of its family.",
    evidence="The suffix in the fatbin entry, or how the image was compiled.",
    verdict="unknown: a trial link decides",
    messages=(
        "Instruction 'setmaxnreg.inc' not supported on .target 'sm_90'",
        "not supported on .target",
    ),
    remedy="Link for the target with the suffix; or compile LTO-IR without the suffix, or one for "
    "each suffix.",
    source="nvJitLink guide, section 5 (always fails); measured with nvJitLink 12.4 to 13.5 "
    "(mostly links)",
    requirements=requirements,
)
