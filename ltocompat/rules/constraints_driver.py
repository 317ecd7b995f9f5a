"""What a driver can be asked to be where older ones are not simply refused."""

from __future__ import annotations

from dataclasses import dataclass

from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict
from ltocompat.rules.constraints import Silent, driver_cuda


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
    """A driver from this CUDA release on surely works.

    Attributes:
        cuda: that release.
        blind: the newest release whose driver is known not to work; what lies between is unknown.
    """

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
