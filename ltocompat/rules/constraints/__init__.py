"""Constraints on the components of a target: a module for several or for each of them."""

from __future__ import annotations

from ltocompat.rules.constraints.any_component import (
    FIRST_NVJITLINK as FIRST_NVJITLINK,
)
from ltocompat.rules.constraints.any_component import (
    FixedVerdict as FixedVerdict,
)
from ltocompat.rules.constraints.any_component import (
    Informational as Informational,
)
from ltocompat.rules.constraints.any_component import (
    Threshold as Threshold,
)
from ltocompat.rules.constraints.any_component import (
    UnknownConstraint as UnknownConstraint,
)
from ltocompat.rules.constraints.driver import (
    CompatNewerThanKernel as CompatNewerThanKernel,
)
from ltocompat.rules.constraints.driver import (
    CompatOnLinux as CompatOnLinux,
)
from ltocompat.rules.constraints.driver import (
    CompatOnSupportedGpu as CompatOnSupportedGpu,
)
from ltocompat.rules.constraints.driver import (
    CompatPairProvided as CompatPairProvided,
)
from ltocompat.rules.constraints.driver import (
    DriverOfCuda as DriverOfCuda,
)
from ltocompat.rules.constraints.driver import (
    DriverOfWriter as DriverOfWriter,
)
from ltocompat.rules.constraints.driver import (
    DriverSureFrom as DriverSureFrom,
)
from ltocompat.rules.constraints.driver import (
    KernelKnows as KernelKnows,
)
from ltocompat.rules.constraints.driver import (
    KernelStillServes as KernelStillServes,
)
from ltocompat.rules.constraints.driver import (
    driver_cuda as driver_cuda,
)
from ltocompat.rules.constraints.linker import (
    LinkerExporting as LinkerExporting,
)
from ltocompat.rules.constraints.linker import (
    LinkerFinding as LinkerFinding,
)
from ltocompat.rules.constraints.linker import (
    LinkerNamed as LinkerNamed,
)
from ltocompat.rules.constraints.linker import (
    LinkerNotOlderThan as LinkerNotOlderThan,
)
from ltocompat.rules.constraints.linker import (
    LinkerOfCubin as LinkerOfCubin,
)
from ltocompat.rules.constraints.linker import (
    LinkerOfKnownMaker as LinkerOfKnownMaker,
)
from ltocompat.rules.constraints.linker import (
    LinkerOfMajor as LinkerOfMajor,
)
from ltocompat.rules.constraints.linker import (
    LinkerTargets as LinkerTargets,
)
from ltocompat.rules.constraints.linker import (
    LinkerTolerating as LinkerTolerating,
)
from ltocompat.rules.constraints.linker import (
    NvrtcOfMinor as NvrtcOfMinor,
)
