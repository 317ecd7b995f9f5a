"""What a package of cuda-compat in front of a kernel driver has to be."""

from __future__ import annotations

from typing import ClassVar

from ltocompat.facts.drivers import compat_branch, compat_use
from ltocompat.model.verdict import Verdict
from ltocompat.rules.rule import CompatUse, Component, Constraint, Unbounded

_LINUX = "linux"


class CompatPairProvided(Constraint, frozen=True):
    """A package that NVIDIA provides for the kernel driver beneath."""

    component: ClassVar = Component.COMPAT

    def __str__(self) -> str:
        return "in a pair with its kernel driver that NVIDIA provides"

    def judge(self, value: CompatUse) -> Verdict:
        """``fail`` for a pair that the table rules out, ``unknown`` for one that it lacks.

        A package that is no newer than the driver, and systems without cuda-compat, are left to
        other rules.
        """
        if value.system != _LINUX or is_shadowing(value):
            return Verdict.OK
        if value.kernel is None:
            return Verdict.UNKNOWN
        use = compat_use(value.package, value.kernel.branch)
        return {"usable": Verdict.OK, "none": Verdict.FAIL}.get(use or "", Verdict.UNKNOWN)

    def floor(self) -> Unbounded:
        """None: nobody has to put cuda-compat in front of a driver."""
        return Unbounded.ANY


class CompatOnSupportedGpu(Constraint, frozen=True):
    """A GPU that forward compatibility is made for."""

    component: ClassVar = Component.COMPAT

    def __str__(self) -> str:
        return "on a data centre GPU, an NGC-ready RTX or a Jetson"

    def judge(self, value: CompatUse) -> Verdict:
        """``fail`` on other GPUs, ``unknown`` where the name of the GPU doesn't tell."""
        if value.system != _LINUX:
            return Verdict.OK
        if value.gpu.data_center is None:
            return Verdict.UNKNOWN
        return Verdict.OK if value.gpu.data_center else Verdict.FAIL

    def floor(self) -> Unbounded:
        """None: nobody has to put cuda-compat in front of a driver."""
        return Unbounded.ANY


class CompatNewerThanKernel(Constraint, frozen=True):
    """A package of a newer driver branch than the kernel driver."""

    component: ClassVar = Component.COMPAT

    def __str__(self) -> str:
        return "of a newer branch than the kernel driver"

    def judge(self, value: CompatUse) -> Verdict:
        """``fail`` for the same or an older branch, ``unknown`` where one of both is not known."""
        if value.system != _LINUX:
            return Verdict.OK
        if value.kernel is None or compat_branch(value.package) is None:
            return Verdict.UNKNOWN
        return Verdict.FAIL if is_shadowing(value) else Verdict.OK

    def floor(self) -> Unbounded:
        """None: nobody has to put cuda-compat in front of a driver."""
        return Unbounded.ANY


class CompatOnLinux(Constraint, frozen=True):
    """A Linux: there is no cuda-compat elsewhere."""

    component: ClassVar = Component.COMPAT

    def __str__(self) -> str:
        return "on Linux itself"

    def judge(self, value: CompatUse) -> Verdict:
        """``fail`` on Windows and in WSL 2."""
        return Verdict.OK if value.system == _LINUX else Verdict.FAIL

    def floor(self) -> Unbounded:
        """None: nobody has to put cuda-compat in front of a driver."""
        return Unbounded.ANY


def is_shadowing(use: CompatUse) -> bool:
    """Whether a package hides a driver that is as new as itself, or newer."""
    branch = compat_branch(use.package)
    return branch is not None and use.kernel is not None and branch <= use.kernel.branch
