"""What NVRTC has to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ltocompat.model.arch import Release
from ltocompat.model.verdict import Verdict
from ltocompat.rules.rule import Component, Constraint, Floor


@dataclass(frozen=True, slots=True)
class NvrtcOfMinor(Constraint):
    """An NVRTC of exactly this minor: its builtins carry the minor in their soname."""

    components: ClassVar = frozenset({Component.NVRTC})
    release: Release

    def __str__(self) -> str:
        return str(self.release)

    def judge(self, value: Release) -> Verdict:
        """``fail`` for every other minor."""
        return Verdict.OK if value == self.release else Verdict.FAIL

    def floor(self) -> Floor[Release]:
        """The release itself."""
        return Floor(self.release, self.release)
