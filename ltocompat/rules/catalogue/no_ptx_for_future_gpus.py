"""PTX-07: only PTX without a suffix, for the highest architecture, serves GPUs to come."""

from __future__ import annotations

from ltocompat.rules.rule import Rule

RULE = Rule(
    id="PTX-07",
    title="Nothing for future GPUs",
    statement="SASS runs within its major, and code with a suffix on one GPU or family. A GPU of "
    "the next major runs only what is there as PTX without a suffix.",
    condition="Kernels of an artifact are there for today's GPUs, but not as PTX without a suffix.",
    evidence="Kinds and architectures of the fatbin entries of all modules.",
    verdict="ok, with a note",
    messages=(),
    remedy="Add PTX of the highest architecture without a suffix (-gencode "
    "arch=compute_XY,code=compute_XY), if GPUs to come have to work.",
    source="nvcc guide 5.6",
)
