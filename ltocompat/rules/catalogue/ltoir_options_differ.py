"""LTO-12: modules that were compiled with different options link without a word."""

from __future__ import annotations

from ltocompat.rules.rule import Rule

RULE = Rule(
    id="LTO-12",
    title="Options differ between LTO modules",
    statement="nvJitLink never says that its inputs were compiled with different -ftz, -prec-div, "
    "-prec-sqrt, -fmad, -maxrregcount or -G, nor that its own options differ. Which one counts is "
    "not documented.",
    condition="LTO-IR modules that are linked together carry different options.",
    evidence="The options in the fatbin entries.",
    verdict="ok, with a note",
    messages=(),
    remedy="Compile every module with one set of options, and give the same set to the link.",
    source="nvJitLink guide 3.3; measured: 64 pairs of options with 15 nvJitLinks, no message",
)
