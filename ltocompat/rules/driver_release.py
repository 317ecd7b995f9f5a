"""The driver of a machine, as rules on machines need it: its CUDA release, and whose libcuda."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ltocompat.model.arch import Release
from ltocompat.rules.constraints import driver_cuda

if TYPE_CHECKING:
    from ltocompat.targets.machine.environment import Environment, UserDriver


def of_kernel(environment: Environment) -> Release | None:
    """The CUDA release of the driver in the kernel, by its branch."""
    driver = environment.kernel_driver
    return None if driver is None else driver_cuda(driver.version)


def of_user(environment: Environment) -> Release | None:
    """The CUDA release of the libcuda that programs load; else that of the kernel's driver."""
    driver = environment.user_driver
    if driver is not None and driver.cuda is not None and not driver.stub:
        return driver.cuda
    return of_kernel(environment)


def of_compat_package(driver: UserDriver) -> bool:
    """Whether a libcuda lies where packages of cuda-compat put theirs."""
    parts = (part for path in (driver.path, driver.real) for part in path.split("/"))
    return driver.is_compat and any(part.startswith(("compat", "cuda-compat")) for part in parts)
