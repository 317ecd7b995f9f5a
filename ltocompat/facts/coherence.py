"""Parts of CUDA in pairs: which of their releases go together, and what breaks."""

from __future__ import annotations

from msgspec import Struct

from ltocompat.model.arch import Release
from ltocompat.model.verdict import Verdict


class PartPair(Struct, frozen=True, tag="coherence.pair"):
    """Two parts that meet in one program.

    Attributes:
        first: ``nvrtc``.
        second: ``headers``.
        verdicts: the verdicts by the relation of the first to the second: ``newer_minor``,
            ``older_minor``, ``newer_major``, ``older_major``; missing relations and equal releases
            are ok.
        breaks: what happens if they don't fit.
        source: the source of the row.
    """

    first: str
    second: str
    verdicts: dict[str, str]
    breaks: str
    source: str

    def verdict(self, first: Release, second: Release) -> Verdict:
        """Return the verdict on these releases of the two."""
        if first == second:
            return Verdict.OK
        age = "newer" if first > second else "older"
        step = "minor" if first.major == second.major else "major"
        return Verdict[self.verdicts.get(f"{age}_{step}", "ok").upper()]
