"""The subject of a finding and what it asks for: parts of its key and of its extent.

A rebuild changes versions, counts and hashes; the subject is what is left without them.
"""

from __future__ import annotations

import functools
import re

from ltocompat.rules.rule import Floor, Requirement

_VARYING = tuple(
    (re.compile(pattern), left)
    for pattern, left in (
        (r" (?:made|linked) by .*", ""),
        (r"^sm_[0-9]+[af]?$", "the GPU"),
        (r"(?: for| on|(?<=the target)) sm_[0-9]+[af]?$", ""),  # extents are told by GPU
        (r" and [0-9,]+ more\b", ""),
        (r"_[0-9a-f]{8}(?=_)", ""),  # the hash of a translation unit
        (r"_[0-9]+_[0-9]+\b", ""),  # __nvJitLinkCreate_12_4
        (r"(?<=[A-Za-z])(?:\.[0-9]+)+", ""),  # libx.so.12
        (r"(?<![A-Za-z0-9_])[0-9]+(?:[.,](?:[0-9]+|x\b))*(?![A-Za-z])", ""),
    )
)
_VERSION = re.compile(r"(?<![A-Za-z0-9_])[0-9]+(?:\.[0-9]+)*")


@functools.lru_cache(maxsize=4096)
def subject_of(text: str) -> str:
    """A text without what a rebuild changes in it: ``PTX compute_80`` of ``PTX 8.4 compute_80``."""
    for pattern, left in _VARYING:
        text = pattern.sub(left, text)
    return " ".join(text.split())


def asked_by(requirement: Requirement) -> tuple[str, ...]:
    """The least version that surely meets a requirement; else that of the code that asks.

    Empty where no version changes the verdict.
    """
    floor = requirement.constraint.floor()
    if isinstance(floor, Floor):
        return (f"{requirement.component} {floor.sure}",)
    versions = _VERSION.findall(requirement.subject)
    if not requirement.constraint.weighs_values or not versions:
        return ()
    return (f"version {versions[-1]}",)
