"""BLD-03: a device link passes over objects that have nothing for its architecture."""

from __future__ import annotations

from ltocompat.rules.rule import Rule

RULE = Rule(
    id="BLD-03",
    title="Nothing for the target of a device link",
    statement="nvlink takes from an object SASS that can be linked for its target, else PTX, else "
    "LTO-IR with -dlto. An object with none of them gets a warning, a member of an archive not "
    "even that from 13.0 on; what calls into it then stays undefined.",
    condition="Objects or members of an archive that wait for a device link have neither SASS nor "
    "PTX nor LTO-IR for the target.",
    evidence="Kinds and architectures of the images of each object.",
    verdict="fail where other code calls into them, which bytes don't tell",
    messages=(
        "nvlink warning : Skipping incompatible 'libx.a' when searching for -lx (target: sm_50)",
        "nvlink warning : SM Arch ('sm_90') not found in 'x.o'",
        "nvlink error : Undefined reference to '_Z1fi' in 'x.o' (target: sm_90)",
        "nvlink error : Undefined reference to '_Z1fi' in 'x.o'",
    ),
    remedy="Compile the archive for the target, or add PTX of a lower architecture "
    "(-gencode arch=compute_XY,code=compute_XY).",
    source="measured: nvlink 13.0.88 with objects and archives of sm_80 for sm_90; NVBit issue 145",
)
