"""TRIAL-DISAGREES: rules and a real link differ; both answers are told."""

from __future__ import annotations

from ltocompat.rules.rule import Rule

RULE = Rule(
    id="TRIAL-DISAGREES",
    title="Rules and trial link differ",
    statement="A trial link never turns a failure by the rules into a success: nvJitLink 12.0 and "
    "12.1, for one, don't check architectures, and some links succeed that produce nothing. Where "
    "it refuses what the rules allow, the verdict is fail.",
    condition="A trial link was asked for, and its answer is not what the rules say.",
    evidence="The rule's finding beside the library's result code and log.",
    verdict="the worse of both",
    messages=(),
    remedy="Trust the worse answer, and report the difference: one of both has a mistake",
    source="nvJitLink itself",
)
