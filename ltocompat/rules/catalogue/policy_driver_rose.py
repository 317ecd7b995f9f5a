"""POL-02: an artifact needs a newer driver than its project's policy keeps."""

from __future__ import annotations

from ltocompat.rules.rule import Rule

RULE = Rule(
    id="POL-02",
    title="Least driver not kept",
    statement="A project may name the least driver that everything it releases has to load on. "
    "SASS decides; PTX, where there is no SASS.",
    condition="least-driver in [tool.ltocompat.audit] is older than the least driver that the "
    "artifact needs.",
    evidence="least-driver of the policy; what the images need, as require says.",
    verdict="fail; unknown where PTX is newer than every known driver",
    messages=(
        "the provided PTX was compiled with an unsupported toolchain",
        "device kernel image is invalid",
        "CUDA driver version is insufficient for CUDA runtime version",
    ),
    remedy="Build with an older toolkit, or raise least-driver.",
    source="the project's own policy",
)
