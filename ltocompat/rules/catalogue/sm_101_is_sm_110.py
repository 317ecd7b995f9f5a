"""SASS-05: sm_101 and sm_110 are one architecture."""

from __future__ import annotations

from ltocompat.rules.rule import Rule

RULE = Rule(
    id="SASS-05",
    title="sm_101 is sm_110",
    statement="The architecture of Jetson Thor is called sm_101 in CUDA 12.8 and 12.9, and sm_110 "
    "from 13.0 on. It is the same one, and not of the family of sm_100.",
    condition="Code or a target has one of both names.",
    evidence="The architecture of the image.",
    verdict="ok: both are treated as sm_110",
    messages=(
        "Value 'sm_101' is not defined for option 'gpu-name'",
        "Unsupported gpu architecture 'compute_101'",
    ),
    remedy="Nothing for finished code; a toolkit from 13.0 on takes sm_110, older ones sm_101.",
    source="CUDA 13.0 features; PTX ISA 9.1, .target; measured: links of sm_101 from 12.9 for "
    "sm_110 with 13.x",
)
