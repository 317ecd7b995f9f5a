"""The CUDA release of a machine's driver, as rules on machines need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ltocompat.model.arch import Release
from ltocompat.rules.constraints import driver_cuda

if TYPE_CHECKING:
    from ltocompat.model.environment import Environment


def of_kernel(environment: Environment) -> Release | None:
    """The CUDA release of the driver in the kernel, by its branch."""
    driver = environment.kernel_driver
    return None if driver is None else driver_cuda(driver.version)


def of_user(environment: Environment) -> Release | None:
    """Return the CUDA release of the libcuda that programs load; else of the kernel driver."""
    driver = environment.user_driver
    if driver is not None and driver.cuda is not None and not driver.stub:
        return driver.cuda
    return of_kernel(environment)
