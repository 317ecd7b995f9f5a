"""What a value on a component of a target can be asked to be."""

from __future__ import annotations

from dataclasses import dataclass

from ltocompat.facts import drivers, gpus
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict


class Silent:
    """Worth no note when it holds."""

    __slots__ = ()

    def noted(self, value: object) -> bool:
        """False."""
        del value
        return False


@dataclass(frozen=True, slots=True)
class Remark:
    """Nothing that has to be so; something that is worth a note on any target."""

    def __str__(self) -> str:
        return "noted"

    def judge(self, value: object) -> Verdict:
        """``ok``."""
        del value
        return Verdict.OK

    def noted(self, value: object) -> bool:
        """True."""
        del value
        return True


@dataclass(frozen=True, slots=True)
class Always(Silent):
    """Nothing that a target has changes this verdict."""

    verdict: Verdict

    def __str__(self) -> str:
        return "anything"

    def judge(self, value: object) -> Verdict:
        """The verdict."""
        del value
        return self.verdict


@dataclass(frozen=True, slots=True)
class Untold(Silent):
    """A version that the tables don't tell."""

    def __str__(self) -> str:
        return "of a release that the tables don't tell"

    def judge(self, value: object) -> Verdict:
        """``unknown``."""
        del value
        return Verdict.UNKNOWN


@dataclass(frozen=True, slots=True)
class DriverFrom(Silent):
    """A driver of this version or newer."""

    floor: DriverVersion

    def __str__(self) -> str:
        return f">= {self.floor}"

    def judge(self, value: DriverVersion) -> Verdict:
        """``fail`` below the floor."""
        return Verdict.OK if value.numbers >= self.floor.numbers else Verdict.FAIL


@dataclass(frozen=True, slots=True)
class DriverOfCuda(Silent):
    """A driver that comes from this CUDA release or a newer one."""

    cuda: Release

    def __str__(self) -> str:
        branch = drivers.cuda_branch(self.cuda)
        named = f">= {branch}" if branch else f"newer than {drivers.driver_branches()[-1]}"
        return f"{named} (CUDA {self.cuda})"

    def judge(self, value: DriverVersion) -> Verdict:
        """``fail`` for an older one; ``unknown`` for one above the tables that may be too old."""
        known = driver_cuda(value)
        if known is not None and known >= self.cuda:
            return Verdict.OK
        newer = value.branch > drivers.driver_branches()[-1]
        return Verdict.UNKNOWN if newer or known is None else Verdict.FAIL


def driver_cuda(driver: DriverVersion) -> Release | None:
    """The CUDA release of a driver's branch; Windows drivers count by the branch below them.

    A driver above the tables has at least the newest known release.
    """
    below = [branch for branch in drivers.driver_branches() if branch <= driver.branch]
    return drivers.branch_cuda(below[-1]) if below else None


@dataclass(frozen=True, slots=True)
class KernelKnows(Silent):
    """A kernel driver that is new enough for GPUs of this compute capability (10 * major + minor).

    The floors are derived from the first toolkit that targets the GPU.
    """

    number: int

    def __str__(self) -> str:
        row = gpus.sm(self.number)
        if row is None:
            return f"newer than {drivers.driver_branches()[-1]}"
        return f">= {row.first_branch}" if row.first_branch else "any"

    def judge(self, value: DriverVersion) -> Verdict:
        """``fail`` below the first branch; ``unknown`` with GPU and driver above the tables."""
        row = gpus.sm(self.number)
        if row is None:
            newer = value.branch > drivers.driver_branches()[-1]
            return Verdict.UNKNOWN if newer else Verdict.FAIL
        too_old = row.first_branch is not None and value.branch < row.first_branch
        return Verdict.FAIL if too_old else Verdict.OK


@dataclass(frozen=True, slots=True)
class KernelStillServes(Silent):
    """A kernel driver that has not dropped GPUs of this compute capability (10 * major + minor)."""

    number: int

    def __str__(self) -> str:
        row = gpus.sm(self.number)
        return f"<= {row.last_branch}" if row and row.last_branch else "any"

    def judge(self, value: DriverVersion) -> Verdict:
        """``fail`` above the last branch that supports the GPU."""
        row = gpus.sm(self.number)
        dropped = row is not None and row.last_branch is not None and value.branch > row.last_branch
        return Verdict.FAIL if dropped else Verdict.OK


@dataclass(frozen=True, slots=True)
class LinkerFrom(Silent):
    """A linker of this release or a newer one."""

    floor: Release

    def __str__(self) -> str:
        return f">= {self.floor}"

    def judge(self, value: Release) -> Verdict:
        """``fail`` below the floor."""
        return Verdict.OK if value >= self.floor else Verdict.FAIL


@dataclass(frozen=True, slots=True)
class LinkerTargets(Silent):
    """A linker that can produce code for this architecture number."""

    number: int

    def __str__(self) -> str:
        row = gpus.sm(self.number)
        if row is None:
            return f"one that knows sm_{self.number}"
        last = f", <= {row.last_toolkit}" if row.last_toolkit else ""
        return f">= {row.first_toolkit}{last}"

    def judge(self, value: Release) -> Verdict:
        """``fail`` where the architecture is not in the linker's list."""
        return Verdict.OK if self.number in gpus.linker_targets(value) else Verdict.FAIL


@dataclass(frozen=True, slots=True)
class LinkerNotOlderThan(Silent):
    """A linker whose minor release is no older than that of LTO-IR made by one of ``releases``.

    Attributes:
        releases: those that can have made it, oldest first; empty when it is outside the tables.
        beyond: with no releases: the newest release that it is newer than.
    """

    releases: tuple[Release, ...]
    beyond: Release | None = None

    def __str__(self) -> str:
        if len(self.releases) > 1:
            return f">= {self.releases[0]} (>= {self.releases[-1]} to be sure)"
        if self.releases:
            return f">= {self.releases[-1]}"
        return f"newer than {self.beyond}" if self.beyond else "of an unknown release"

    def judge(self, value: Release) -> Verdict:
        """``fail`` where every release is newer; ``unknown`` where only some are."""
        if not self.releases:
            too_old = self.beyond is not None and value <= self.beyond
            return Verdict.FAIL if too_old else Verdict.UNKNOWN
        newer = [release > value for release in self.releases]
        if all(newer):
            return Verdict.FAIL
        return Verdict.UNKNOWN if any(newer) else Verdict.OK


@dataclass(frozen=True, slots=True)
class LinkerOfMajor(Silent):
    """A linker of the same major as LTO-IR made by one of ``releases``: all that is documented."""

    releases: tuple[Release, ...]

    def __str__(self) -> str:
        return "of major " + " or ".join(sorted({str(release.major) for release in self.releases}))

    def judge(self, value: Release) -> Verdict:
        """``undocumented`` across majors upward, ``fail`` for what NVVM before 12.0 wrote.

        An older major is left to the rule on minor releases, which fails there.
        """
        possible = [release for release in self.releases if release <= value]
        if not possible:
            return Verdict.OK
        if all(each_release.major < FIRST_NVJITLINK.major for each_release in possible):
            return Verdict.FAIL
        crossing = any(one.major < value.major for one in possible)
        return Verdict.UNDOCUMENTED if crossing else Verdict.OK


FIRST_NVJITLINK = Release(12, 0)
