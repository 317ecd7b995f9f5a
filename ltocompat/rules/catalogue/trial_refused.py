"""TRIAL: what a trial link said where the rules alone could not decide."""

from __future__ import annotations

from ltocompat.rules.rule import Rule

RULE = Rule(
    id="TRIAL",
    title="The linker's own answer",
    statement="Where rules leave a link open, the target's own nvJitLink is asked. Its answer can "
    "make a verdict worse and can settle an unknown one; what it links against the documentation "
    "is undocumented, never ok. Where it crashes or runs out of its limits, nothing is known.",
    condition="A trial link was asked for, and the rules say unknown; or the library crashed.",
    evidence="The library's result code and log, in a process of its own, confirmed in a fresh "
    "one.",
    verdict="fail, undocumented or unknown",
    messages=(),
    remedy="See the finding's text; repeat the trial with: ltocompat link",
    source="nvJitLink itself",
)
