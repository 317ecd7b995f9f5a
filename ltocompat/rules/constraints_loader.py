"""What a library that the loader brings can be asked to be."""

from __future__ import annotations

from dataclasses import dataclass

from ltocompat.model.arch import Release
from ltocompat.model.verdict import Verdict
from ltocompat.rules.constraints import Silent


@dataclass(frozen=True, slots=True)
class LinkerExporting(Silent):
    """An nvJitLink that has the symbols of this release: the same major, no older minor.

    Attributes:
        floor: the highest release among the imported symbols.
        by_name: the file asks for nvJitLink by soname, so that another major is not even opened:
            left to the rule on sonames.
    """

    floor: Release
    by_name: bool = False

    def __str__(self) -> str:
        return f">= {self.floor}, < {self.floor.major + 1}"

    def judge(self, value: Release) -> Verdict:
        """``fail`` for an older minor, and for another major, which never has these symbols."""
        if value.major != self.floor.major:
            return Verdict.OK if self.by_name else Verdict.FAIL
        return Verdict.OK if value >= self.floor else Verdict.FAIL


@dataclass(frozen=True, slots=True)
class LinkerNamed(Silent):
    """An nvJitLink of one of the majors whose file names are asked for.

    Attributes:
        majors: ascending.
        certain: the loader itself needs the file; else the program may do without it.
    """

    majors: tuple[int, ...]
    certain: bool

    def __str__(self) -> str:
        return "of major " + " or ".join(map(str, self.majors))

    def judge(self, value: Release) -> Verdict:
        """``fail`` for another major; ``unknown`` where the file is opened while running."""
        if value.major in self.majors:
            return Verdict.OK
        return Verdict.FAIL if self.certain else Verdict.UNKNOWN


@dataclass(frozen=True, slots=True)
class NvrtcOfMinor(Silent):
    """An NVRTC of exactly this minor: its builtins carry the minor in their soname."""

    release: Release

    def __str__(self) -> str:
        return str(self.release)

    def judge(self, value: Release) -> Verdict:
        """``fail`` for every other minor."""
        return Verdict.OK if value == self.release else Verdict.FAIL
