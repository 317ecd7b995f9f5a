"""Constraints on drivers and on packages of cuda-compat in front of them."""

from __future__ import annotations

import functools
from abc import abstractmethod
from typing import ClassVar

from ltocompat.facts import drivers, gpus, horizon
from ltocompat.facts.drivers import compat_branch, compat_use
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict
from ltocompat.rules.constraints.any_component import AlwaysMet
from ltocompat.rules.rule import CompatUse, Component, Constraint, Floor, Unbounded

_LINUX = "linux"


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


class DriverOfWriter(AlwaysMet, frozen=True):
    """A driver that is as new as the toolkit that wrote the code, where its major is enough.

    Minor-version compatibility is documented: every driver of the major is ``ok``.
    """

    component: ClassVar = Component.DRIVER
    cuda: Release

    def __str__(self) -> str:
        return f"of CUDA {self.cuda} for everything that this release has"

    def noted(self, value: DriverVersion) -> bool:
        """Return whether the driver is of the same major and an older minor."""
        known = driver_cuda(value)
        return known is not None and known.major == self.cuda.major and known < self.cuda


class DriverSureFrom(Constraint, frozen=True):
    """A driver from this CUDA release on surely works.

    Attributes:
        cuda: that release.
        blind: the newest release whose driver is known not to work; what lies between is unknown.
    """

    component: ClassVar = Component.DRIVER
    ignores_concatenated: ClassVar = True
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


class _OnCompat(Constraint, frozen=True):
    """A constraint on cuda-compat on Linux: elsewhere there is none, and another rule says so."""

    component: ClassVar = Component.COMPAT

    def judge(self, value: CompatUse) -> Verdict:
        """Judge a package in front of a driver."""
        return self._on_linux(value) if value.system == _LINUX else Verdict.OK

    @abstractmethod
    def _on_linux(self, value: CompatUse) -> Verdict:
        """The same, on Linux itself."""

    def floor(self) -> Unbounded:
        """None: nobody has to put cuda-compat in front of a driver."""
        return Unbounded.ANY


class CompatPairProvided(_OnCompat, frozen=True):
    """A package that NVIDIA provides for the kernel driver beneath."""

    def __str__(self) -> str:
        return "in a pair with its kernel driver that NVIDIA provides"

    def _on_linux(self, value: CompatUse) -> Verdict:
        """``fail`` for a pair that the table rules out, ``unknown`` for one that it lacks.

        A package that is no newer than the driver is left to another rule.
        """
        if is_shadowing(value):
            return Verdict.OK
        if value.kernel is None:
            return Verdict.UNKNOWN
        use = compat_use(value.package, value.kernel.branch)
        return {"usable": Verdict.OK, "none": Verdict.FAIL}.get(use or "", Verdict.UNKNOWN)


class CompatOnSupportedGpu(_OnCompat, frozen=True):
    """A GPU that forward compatibility is made for."""

    def __str__(self) -> str:
        return "on a data centre GPU, an NGC-ready RTX or a Jetson"

    def _on_linux(self, value: CompatUse) -> Verdict:
        """``fail`` on other GPUs, ``unknown`` where the name of the GPU doesn't tell."""
        if value.gpu.data_center is None:
            return Verdict.UNKNOWN
        return Verdict.OK if value.gpu.data_center else Verdict.FAIL


class CompatNewerThanKernel(_OnCompat, frozen=True):
    """A package of a newer driver branch than the kernel driver."""

    def __str__(self) -> str:
        return "of a newer branch than the kernel driver"

    def _on_linux(self, value: CompatUse) -> Verdict:
        """``fail`` for the same or an older branch, ``unknown`` where one of both is not known."""
        if value.kernel is None or compat_branch(value.package) is None:
            return Verdict.UNKNOWN
        return Verdict.FAIL if is_shadowing(value) else Verdict.OK


class CompatOnLinux(_OnCompat, frozen=True):
    """A Linux: there is no cuda-compat elsewhere."""

    def __str__(self) -> str:
        return "on Linux itself"

    def judge(self, value: CompatUse) -> Verdict:
        """``fail`` on Windows and in WSL 2."""
        return self._on_linux(value) if value.system == _LINUX else Verdict.FAIL

    def _on_linux(self, value: CompatUse) -> Verdict:
        del value
        return Verdict.OK


def is_shadowing(use: CompatUse) -> bool:
    """Return whether a package hides a driver that is as new as itself, or newer."""
    branch = compat_branch(use.package)
    return branch is not None and use.kernel is not None and branch <= use.kernel.branch


@functools.lru_cache(maxsize=256)
def driver_cuda(driver: DriverVersion) -> Release | None:
    """The CUDA release of a driver's branch; of one that is no row, that of the branch below it.

    A driver above the tables has at least the newest known release.
    """
    below = horizon.of_driver(driver).below
    return None if below is None else drivers.branch_cuda(below)
