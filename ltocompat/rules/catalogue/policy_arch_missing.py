"""POL-01: an artifact lacks an architecture that its project's policy requires."""

from __future__ import annotations

from ltocompat.rules.rule import Rule

RULE = Rule(
    id="POL-01",
    title="Required architecture missing",
    statement="A project may require architectures of everything that it releases: sm_90 is SASS "
    "for it, compute_90 PTX, lto_90 LTO-IR. The three are counted apart, since PTX loads only on "
    "drivers that know its version, and LTO-IR only after a link. Packages for any platform that "
    "hold no device code are exempt.",
    condition="require-archs in [tool.ltocompat.audit] names an architecture that no image of that "
    "kind in the artifact is for.",
    evidence="require-archs of the policy; kinds and architectures of the images.",
    verdict="fail",
    messages=("no kernel image is available for execution on the device",),
    remedy="Compile for the architecture, or take it out of require-archs.",
    source="the project's own policy",
)
