"""TGT-01: a target that says too little leaves a half of the way unjudged."""

from __future__ import annotations

from ltocompat.rules.rule import Rule

RULE = Rule(
    id="TGT-01",
    title="The target says too little",
    statement="Code that is linked is judged by the target's nvJitLink (objects by nvlink, too), "
    "code that is loaded by its GPU and driver. What the target doesn't name is not judged, and "
    "is never ok; where nothing is left to judge, the verdict is unknown.",
    condition="Modules go a way of which the target says nothing.",
    evidence="The keys of the deploy target.",
    verdict="unknown, or a note where something else was judged",
    messages=(),
    remedy="Add what is missing to --deploy-target: driver=, gpu=, nvjitlink= or nvlink=.",
    source="the contract of this tool",
)
