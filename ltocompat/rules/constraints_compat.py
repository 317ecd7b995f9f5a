"""Another name of ``constraints``, until all import from there."""

from ltocompat.rules.constraints import (
    CompatNewerThanKernel,
    CompatOnLinux,
    CompatOnSupportedGpu,
    CompatPairProvided,
)

__all__ = ["CompatNewerThanKernel", "CompatOnLinux", "CompatOnSupportedGpu", "CompatPairProvided"]
