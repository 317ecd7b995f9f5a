"""LTO-08: objects without LTO-IR make a link-time optimisation partial."""

from __future__ import annotations

from ltocompat.rules.rule import Rule

RULE = Rule(
    id="LTO-08",
    title="Partial link-time optimisation",
    statement="Relocatable objects with LTO-IR and without link together. What has no LTO-IR is "
    "linked as it is, and nothing is inlined across that border.",
    condition="Of several relocatable objects that go into one link, some have LTO-IR and some "
    "don't.",
    evidence="Kinds of the images of each object.",
    verdict="ok, with a note",
    messages=(
        "nvlink info : requested LTO but 'x.o' not built for LTO so doing partial LTO",
        "not built for LTO so doing partial LTO",
    ),
    remedy="Compile every object with -dlto, or with code=lto_XY for an explicit list of "
    "architectures (arch=all-major and native make no LTO-IR).",
    source="nvcc guide 6.5; AMReX issue 5631",
)
