"""LTO-07: nvJitLink refuses the option -lto when there is no LTO-IR."""

from __future__ import annotations

from collections.abc import Iterator

from ltocompat.model.image import ImageKind
from ltocompat.model.verdict import Route, Verdict
from ltocompat.rules.constraints import Always
from ltocompat.rules.rule import Component, Requirement, Rule, Subject


def requirements(subject: Subject) -> Iterator[Requirement]:
    """One where something is linked that is not LTO-IR."""
    if subject.route is not Route.LINK or not subject.picked:
        return
    if all(image.kind is not ImageKind.LTOIR for image in subject.picked):
        yield Requirement(
            Component.OPTIONS,
            Always(Verdict.OK),
            RULE.id,
            "code without LTO-IR",
            "-lto must not be given to the linker unless other inputs are LTO-IR",
            "leave -lto away",
            "kinds of the images",
        )


RULE = Rule(
    id="LTO-07",
    title="-lto without LTO-IR",
    statement="With -lto, at least one input has to be LTO-IR: nvJitLink fails on SASS or PTX "
    "alone.",
    condition="A link takes no LTO-IR; a file doesn't show which options its link will have.",
    evidence="Kinds of the images.",
    verdict="ok: an option that the link must not have",
    messages=(
        "ERROR NVVM_ERROR_NO_MODULE_IN_PROGRAM (8) in nvvmCompileProgram callback",
        "NVVM_ERROR_NO_MODULE_IN_PROGRAM",
    ),
    remedy="Leave -lto away, or add an input of LTO-IR.",
    source="measured with nvJitLink 12.0 to 13.5: result 5 of nvJitLinkComplete",
    requirements=requirements,
)
