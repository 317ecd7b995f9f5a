"""What a driver can be asked to be where older ones are not simply refused."""

from __future__ import annotations

from dataclasses import dataclass

from ltocompat.arch import Release
from ltocompat.requirements.constraints import Silent, driver_cuda
from ltocompat.target import DriverVersion
from ltocompat.verdict import Verdict


@dataclass(frozen=True, slots=True)
class DriverOfWriter:
    """A driver that is as new as the toolkit that wrote the code, where its major is enough."""

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


@dataclass(frozen=True, slots=True)
class DriverSureFrom(Silent):
    """A driver from this CUDA release on surely works; nothing is known of older ones."""

    cuda: Release

    def __str__(self) -> str:
        return f"of CUDA {self.cuda} or newer, to be sure"

    def judge(self, value: DriverVersion) -> Verdict:
        """``unknown`` for an older one."""
        known = driver_cuda(value)
        return Verdict.OK if known is not None and known >= self.cuda else Verdict.UNKNOWN
