"""What a linker can be asked to be for the sake of finished machine code."""

from __future__ import annotations

from dataclasses import dataclass

from ltocompat.model.arch import Release
from ltocompat.model.verdict import Verdict
from ltocompat.rules import floors
from ltocompat.rules.constraints import Silent


@dataclass(frozen=True, slots=True)
class LinkerOfCubin(Silent):
    """A linker whose minor release is no older than the tool that wrote a cubin.

    Attributes:
        writer: release of that tool.
        tolerated: the cubin is one that later linkers of 12.x take although they are older.
    """

    writer: Release
    tolerated: bool = False

    def __str__(self) -> str:
        return f">= {self.writer}"

    def judge(self, value: Release) -> Verdict:
        """``fail`` for an older linker; ``undocumented`` where it was seen to take the cubin."""
        if value >= self.writer:
            return Verdict.OK
        tolerant = floors.linker("generation-2-linker-exception")
        seen = self.tolerated and value.major == tolerant.major and value >= tolerant
        return Verdict.UNDOCUMENTED if seen else Verdict.FAIL
