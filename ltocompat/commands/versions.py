"""Tell what versions of CUDA, drivers and PTX mean to each other, out of the tables.

None is the answer where the tables have no row: they end with a release (``ltocompat facts``), and
nothing is computed beyond it.
"""

from __future__ import annotations

import re

from ltocompat.commands.options import checked
from ltocompat.facts import drivers, gpus, horizon, toolkits
from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError
from ltocompat.model.target import DriverVersion
from ltocompat.targets import parse

_CUDA = re.compile(r"[0-9]{1,2}\.")  # every driver has three digits in front


def ptx_toolkit(isa: str) -> Release | None:
    """Return the CUDA release that introduced a version of the PTX ISA: 12.8 for ``8.7``.

    No ptxas, nvJitLink or driver of an older release reads such PTX.

    Args:
        isa: the version, as in the ``.version`` line of the PTX.

    Raises:
        UsageError: the argument is not a PTX version.
    """
    if not isinstance(isa, str) or not re.fullmatch(r"[0-9]{1,4}\.[0-9]{1,4}", isa):
        raise UsageError(f"{isa!r} is not a version of PTX; write it like '8.7'")
    return toolkits.ptx_cuda(isa)


def toolkit_ptx(cuda: str) -> str | None:
    """Return the newest PTX ISA version that a CUDA release accepts: ``8.7`` for ``12.8``.

    Args:
        cuda: ``12.8`` or ``12.8.93``.

    Raises:
        UsageError: the argument is not a CUDA release.
    """
    return toolkits.cuda_ptx(Release.parse(cuda))


def driver_cuda(driver: str) -> Release | None:
    """Return the CUDA release that cuDriverGetVersion() gives: 12.8 for ``570.124.06``.

    Args:
        driver: the version or branch of a Linux or Windows driver: ``570.124.06``, ``R570``,
            ``572.16``.

    Raises:
        UsageError: the argument is not a driver version.
    """
    return drivers.branch_cuda(drivers.branch_of(_driver(driver)))


def cuda_driver(cuda: str, *, system: str = "linux") -> DriverVersion | None:
    """Return the driver that came with a CUDA release; an older driver may not run its code.

    Args:
        cuda: ``12.8``.
        system: ``linux`` or ``windows``.

    Raises:
        UsageError: the argument is not a CUDA release.
    """
    return drivers.stock_driver(Release.parse(cuda), system)


@checked
def supports(driver_or_cuda: str, arch: str) -> bool | None:
    """Return whether a driver can run code for an architecture, or a toolkit can compile for it.

    A driver newer than the tables runs all architectures that the newest known driver runs. A minor
    release newer than the tables supports all architectures of the minor release before it. The
    result is None if only the tables of a newer ltocompat can answer.

    Args:
        driver_or_cuda: a driver (``570.124.06``, ``R570``) or a CUDA release (``12.8``).
        arch: ``sm_120``, or a GPU by name: ``h100``.

    Raises:
        UsageError: an argument is invalid.
    """
    sm = gpus.sm(gpus.find_gpu(arch).arch.number)
    if not _CUDA.match(driver_or_cuda):
        driver = _driver(driver_or_cuda)
        return None if sm is None else gpus.runs(sm, driver)
    release = Release.parse(driver_or_cuda)
    if sm is None or horizon.is_new_major(release):
        return None
    return sm.number in gpus.linker_targets(release)


def _driver(text: str) -> DriverVersion:
    """Read a driver.

    Raises:
        UsageError: it is none.
    """
    (target,) = parse([f"driver={text}"])
    if target.driver is None or target.driver.every:
        raise UsageError(f"{text!r} is not a driver version; write it like 570.124.06 or R570")
    return target.driver.values[0]
