"""What a value on a component of a target can be asked to be: a module for each component."""

from __future__ import annotations

from ltocompat.rules.constraints.any_component import Always, Remark, Untold
from ltocompat.rules.constraints.compat import (
    CompatNewerThanKernel,
    CompatOnLinux,
    CompatOnSupportedGpu,
    CompatPairProvided,
    is_shadowing,
)
from ltocompat.rules.constraints.driver import (
    DriverEnough,
    DriverFrom,
    DriverOfCuda,
    DriverOfWriter,
    DriverSureFrom,
    KernelKnows,
    KernelStillServes,
    driver_cuda,
)
from ltocompat.rules.constraints.linker import (
    FIRST_NVJITLINK,
    LinkerExporting,
    LinkerFinding,
    LinkerFrom,
    LinkerNamed,
    LinkerNotOlderThan,
    LinkerOfCubin,
    LinkerOfKnownMaker,
    LinkerOfMajor,
    LinkerSteadyFrom,
    LinkerSureFrom,
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
    "DriverEnough",
    "DriverFrom",
    "DriverOfCuda",
    "DriverOfWriter",
    "DriverSureFrom",
    "KernelKnows",
    "KernelStillServes",
    "LinkerExporting",
    "LinkerFinding",
    "LinkerFrom",
    "LinkerNamed",
    "LinkerNotOlderThan",
    "LinkerOfCubin",
    "LinkerOfKnownMaker",
    "LinkerOfMajor",
    "LinkerSteadyFrom",
    "LinkerSureFrom",
    "LinkerTargets",
    "LinkerTolerating",
    "NvrtcOfMinor",
    "Remark",
    "Untold",
    "driver_cuda",
    "is_shadowing",
]
