"""IMG-02: a place that can't be read may hold device code; an answer never shrinks silently."""

from __future__ import annotations

from ltocompat.rules.rule import Rule

RULE = Rule(
    id="IMG-02",
    title="Bytes that can't be read",
    statement="What can't be read can't be judged. It is told, and the verdict is no better than "
    "unknown.",
    condition="A place of the file was skipped: broken, truncated, or over a limit.",
    evidence="The place, and the reason why it was skipped.",
    verdict="unknown",
    messages=(),
    remedy="Look at the place with: ltocompat inspect",
    source="the contract of this tool",
)
