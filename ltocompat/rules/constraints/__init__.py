"""Constraints on the components of a target: a module for several or for each of them."""

from __future__ import annotations

from ltocompat.rules.constraints.any_component import (
    FIRST_NVJITLINK,
    Always,
    Remark,
    Threshold,
    Untold,
)
from ltocompat.rules.constraints.driver import (
    CompatNewerThanKernel,
    CompatOnLinux,
    CompatOnSupportedGpu,
    CompatPairProvided,
    DriverOfCuda,
    DriverOfWriter,
    DriverSureFrom,
    KernelKnows,
    KernelStillServes,
    driver_cuda,
    is_shadowing,
)
from ltocompat.rules.constraints.linker import (
    LinkerExporting,
    LinkerFinding,
    LinkerNamed,
    LinkerNotOlderThan,
    LinkerOfCubin,
    LinkerOfKnownMaker,
    LinkerOfMajor,
    LinkerTargets,
    LinkerTolerating,
    NvrtcOfMinor,
)

__all__ = [
    "FIRST_NVJITLINK",
    "Always",
    "CompatNewerThanKernel",
    "CompatOnLinux",
    "CompatOnSupportedGpu",
    "CompatPairProvided",
    "DriverOfCuda",
    "DriverOfWriter",
    "DriverSureFrom",
    "KernelKnows",
    "KernelStillServes",
    "LinkerExporting",
    "LinkerFinding",
    "LinkerNamed",
    "LinkerNotOlderThan",
    "LinkerOfCubin",
    "LinkerOfKnownMaker",
    "LinkerOfMajor",
    "LinkerTargets",
    "LinkerTolerating",
    "NvrtcOfMinor",
    "Remark",
    "Threshold",
    "Untold",
    "driver_cuda",
    "is_shadowing",
]
