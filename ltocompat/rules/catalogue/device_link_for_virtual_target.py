"""BLD-04: the target of a device link is a real architecture."""

from __future__ import annotations

from ltocompat.rules.rule import Rule

RULE = Rule(
    id="BLD-04",
    title="Device link for lto_ or compute_",
    statement="A device link makes machine code, so its target is sm_XY. lto_XY and compute_XY say "
    "what a compiler stores in an object, and are no targets of nvlink.",
    condition="A device link was asked for lto_XY or compute_XY. A target of this tool that spells "
    "a GPU so is refused; what a build once asked for is not in its files.",
    evidence="The error text.",
    verdict="fail: nvlink stops",
    messages=(
        "nvlink fatal : Link target of 'lto_70' is virtual target that is not JIT-able",
        "is virtual target that is not JIT-able; use 'sm_' target instead",
    ),
    remedy="Give the device link -arch=sm_XY (or -gencode arch=compute_XY,code=sm_XY), and keep "
    "code=lto_XY for the compilation.",
    source="measured: nvlink 13.0.88 with lto_80 and compute_80; AMReX pull requests 2012, 4773",
)
