"""The GPUs that an artifact serves, folded: the minimum driver of all, and the range of GPUs."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ltocompat.facts import drivers, gpus
from ltocompat.model.arch import Release
from ltocompat.model.requirement import NEXT, GpuSupport, LinkerFloor, Required
from ltocompat.model.target import DriverVersion
from ltocompat.model.verdict import Verdict

# The ways in which a GPU is served, the best first.
HOW = ("sass", "ptx", "link")


def least_driver(required: Required, services: Iterable[GpuSupport]) -> DriverVersion | None:
    """Return the driver for the SASS, else the PTX, else the linked code on the least GPU.

    Without kernels, it is the driver for the CUDA runtime of its libraries.
    GPUs for which links need a different nvJitLink than the artifact get a separate one.
    """
    linker = required.nvjitlink
    every = [service for service in services if service.driver is not None]
    whole = [service for service in every if not service.unlinked] or every
    alike = [each for each in whole if linker and each.nvjitlink in (None, linker.at_least)]
    served = alike or whole
    how = next((how for how in HOW if any(service.how == how for service in served)), "none")
    floors = (service.driver for service in served if service.how == how and service.driver)
    return min(floors, default=None)


def verdict_of(service: GpuSupport) -> Verdict:
    """Return the verdict of ``check`` on a GPU with the minimum versions."""
    return next((route.verdict for route in service.routes if route.coverage.served), Verdict.FAIL)


def as_loaded(service: GpuSupport, *, possible: bool = False) -> GpuSupport:
    """Return a GPU with the driver for its code without a link, if links need a newer one.

    Args:
        service: a GPU for which a driver works.
        possible: True for the oldest driver that doesn't surely fail.
    """
    # Code without kernels serves no GPU, and has a driver for the runtime of its libraries.
    served = (route for route in service.routes if route.coverage.served)
    first = next(served, service.routes[0])
    return replace(service, driver=first.possible_driver if possible else first.driver)


def least_cuda(required: Required, services: Iterable[GpuSupport]) -> Release | None:
    """Return the oldest CUDA release whose known drivers are all at least that driver."""
    driver = least_driver(required, services)
    if driver is None:
        return None
    for cuda, first in drivers.earlier_drivers().items():
        if first >= driver:
            return Release.parse(cuda)
    branches = drivers.driver_branches()
    enough = (branch for branch in branches if drivers.first_production(branch) >= driver)
    return next((drivers.branch_cuda(branch) for branch in enough), None)


def installed_linker(required: Required) -> LinkerFloor | None:
    """Return the minimum nvJitLink that has to be installed; what a build links needs none."""
    asks = any(line.text for line in required.lines if line.where == "pip")
    return required.nvjitlink if asks else None


def served_range(services: Iterable[GpuSupport]) -> tuple[int, int | None] | None:
    """Return the lowest served GPU, and the next one that is not served, without Jetson GPUs.

    The result is None if no known GPU is served; it has no end if future GPUs are served, too.
    """
    first = None
    for service in services:
        if gpus.is_tegra(service.number):
            continue
        if is_served(service) and not service.hardly:
            first = service.number if first is None and service.name != NEXT else first
        elif first is not None:
            return first, service.number
    return None if first is None else (first, None)


def is_served(service: GpuSupport) -> bool:
    """Return whether a known driver brings code onto the GPU."""
    return service.how != "none" and (service.name == NEXT or not service.beyond)


def lacks_kernels(required: Required) -> bool:
    """Return whether no module of it has kernels, so that each GPU will do."""
    found = [route.coverage for service in required.services for route in service.routes]
    return bool(found) and all(each.idle for each in found)


def runs_anywhere(required: Required) -> bool:
    """Return whether all code lacks kernels and asks for no driver: each GPU and driver will do."""
    verdicts = {route.verdict for service in required.services for route in service.routes}
    asks_driver = any(service.driver is not None for service in required.services)
    return lacks_kernels(required) and verdicts == {Verdict.OK} and not asks_driver


def promised(services: Iterable[GpuSupport]) -> list[GpuSupport]:
    """Return the GPUs that a package can promise; a few modules for a GPU don't count."""
    return [service for service in services if not service.hardly]


def capability(number: int) -> str:
    """``7.5``, ``12.0``."""
    return f"{number // 10}.{number % 10}"
