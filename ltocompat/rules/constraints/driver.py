"""What a driver has to be."""

from __future__ import annotations

import functools
from typing import ClassVar

from ltocompat.facts import drivers, gpus, horizon
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict
from ltocompat.rules.rule import Component, Constraint, Floor, Unbounded


class DriverOfCuda(Constraint, frozen=True):
    """A driver that comes from this CUDA release or a newer one.

    Attributes:
        cuda: that release.
        surely: all of those do; else it is only known that older ones don't.
    """

    component: ClassVar = Component.DRIVER
    cuda: Release
    surely: bool = True

    def __str__(self) -> str:
        branch = drivers.first_branch_from(self.cuda)
        named = f">= {branch}" if branch else f"newer than {drivers.driver_branches()[-1]}"
        return f"{named} (CUDA {self.cuda})"

    def judge(self, value: DriverVersion) -> Verdict:
        """``fail`` for an older one; ``unknown`` for one above the tables that may be too old."""
        known = driver_cuda(value)
        if known is not None and known >= self.cuda:
            return Verdict.OK if self.surely else Verdict.UNKNOWN
        newer = horizon.of_driver(value).beyond
        return Verdict.UNKNOWN if newer or known is None else Verdict.FAIL

    def floor(self) -> Floor[DriverVersion] | Unbounded:
        """The first driver of the branch; none where all known drivers are older."""
        branch = drivers.first_branch_from(self.cuda)
        if not self.surely:
            return Unbounded.NOT_KNOWN
        if branch is None:
            return Unbounded.NONE_KNOWN
        first = drivers.first_production(branch)
        return Floor(first, first)


class DriverOfWriter(Constraint, frozen=True):
    """A driver that is as new as the toolkit that wrote the code, where its major is enough."""

    component: ClassVar = Component.DRIVER
    cuda: Release

    def __str__(self) -> str:
        return f"of CUDA {self.cuda} for everything that this release has"

    def judge(self, value: object) -> Verdict:
        """``ok``: minor-version compatibility is documented."""
        del value
        return Verdict.OK

    def noted(self, value: DriverVersion) -> bool:
        """Whether the driver is of the same major and an older minor."""
        known = driver_cuda(value)
        return known is not None and known.major == self.cuda.major and known < self.cuda

    def floor(self) -> Unbounded:
        """None: every driver is ``ok``."""
        return Unbounded.ANY


class DriverSureFrom(Constraint, frozen=True):
    """A driver from this CUDA release on surely works.

    Attributes:
        cuda: that release.
        blind: the newest release whose driver is known not to work; what lies between is unknown.
    """

    component: ClassVar = Component.DRIVER
    hides_concatenated: ClassVar = True
    cuda: Release
    blind: Release

    def __str__(self) -> str:
        return f"of CUDA {self.cuda} or newer, to be sure"

    def judge(self, value: DriverVersion) -> Verdict:
        """``fail`` up to ``blind``, ``unknown`` between both."""
        known = driver_cuda(value)
        if known is not None and known >= self.cuda:
            return Verdict.OK
        return Verdict.FAIL if known is None or known <= self.blind else Verdict.UNKNOWN

    def floor(self) -> Floor[DriverVersion] | Unbounded:
        """The first branch after those that fail, and the first that surely works."""
        sure = drivers.cuda_branch(self.cuda)
        later = [
            branch
            for branch in drivers.driver_branches()
            if self.judge(DriverVersion((branch,))) is not Verdict.FAIL
        ]
        if sure is None or not later:
            return Unbounded.NONE_KNOWN
        return Floor(drivers.first_production(later[0]), drivers.first_production(sure))


class KernelKnows(Constraint, frozen=True):
    """A kernel driver that is new enough for GPUs of this compute capability (10 * major + minor).

    The floors are derived from the first toolkit that targets the GPU.
    """

    component: ClassVar = Component.KERNEL
    of_gpu: ClassVar = True
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
            return Verdict.UNKNOWN if horizon.of_driver(value).beyond else Verdict.FAIL
        too_old = row.first_branch is not None and value.branch < row.first_branch
        return Verdict.FAIL if too_old else Verdict.OK

    def floor(self) -> Floor[DriverVersion] | Unbounded:
        """The first driver of the first branch; none for a GPU above the tables."""
        row = gpus.sm(self.number)
        if row is None:
            return Unbounded.NONE_KNOWN
        if row.first_branch is None:
            return Unbounded.ANY
        first = drivers.first_production(row.first_branch)
        return Floor(first, first)


class KernelStillServes(Constraint, frozen=True):
    """A kernel driver that has not dropped GPUs of this compute capability (10 * major + minor)."""

    component: ClassVar = Component.KERNEL
    of_gpu: ClassVar = True
    number: int

    def __str__(self) -> str:
        row = gpus.sm(self.number)
        return f"<= {row.last_branch}" if row and row.last_branch else "any"

    def judge(self, value: DriverVersion) -> Verdict:
        """``fail`` above the last branch that supports the GPU."""
        row = gpus.sm(self.number)
        branch = drivers.branch_of(value)
        dropped = row is not None and row.last_branch is not None and branch > row.last_branch
        return Verdict.FAIL if dropped else Verdict.OK

    def floor(self) -> Unbounded:
        """None: it is the newest driver that is bounded."""
        return Unbounded.ANY


@functools.lru_cache(maxsize=256)
def driver_cuda(driver: DriverVersion) -> Release | None:
    """The CUDA release of a driver's branch; of one that is no row, that of the branch below it.

    A driver above the tables has at least the newest known release.
    """
    below = horizon.of_driver(driver).below
    return None if below is None else drivers.branch_cuda(below)
