"""What a package of cuda-compat in front of a kernel driver has to be."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from ltocompat.facts.drivers import compat_branch, compat_use
from ltocompat.model.verdict import Verdict
from ltocompat.rules.rule import CompatUse, Component, Constraint, Unbounded

_LINUX = "linux"


class _OnCompat(Constraint, frozen=True):
    """What is asked of cuda-compat on Linux: elsewhere there is none, and another rule says so."""

    component: ClassVar = Component.COMPAT

    def judge(self, value: CompatUse) -> Verdict:
        """What a package in front of a driver makes of it."""
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
    """Whether a package hides a driver that is as new as itself, or newer."""
    branch = compat_branch(use.package)
    return branch is not None and use.kernel is not None and branch <= use.kernel.branch
