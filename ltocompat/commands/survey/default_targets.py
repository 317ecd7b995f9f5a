"""The deploy targets of a survey that names none: driver branches with the GPUs of their time.

Which numbers a driver has and which branches run a GPU is in our tables of facts, a source a row.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple

from ltocompat.facts.drivers import driver_releases, toolkit_drivers
from ltocompat.facts.gpus import find_gpu, sm

# The two that NVIDIA supports for long, the newest, and those that came with CUDA 12.4, 12.8 and
# 13.2 (drivers.toml): each the first for new PTX versions, two of them for new GPUs.
_BRANCHES = (535, 550, 570, 580, 595, 615)


class _Gpu(NamedTuple):
    """A GPU, and the systems that it is surveyed for."""

    name: str
    systems: tuple[str, ...] = ("linux", "windows")


_ARM = ("linux-aarch64",)
# A consumer's and a data centre's GPU of each architecture. Of those without a slot (gpus.toml:
# ``cpu``) the CPU is Arm; B200 and B300 are sold in HGX and DGX servers, whose software is for
# Linux (NVIDIA, DGX B200 and B300 user guides).
_GPUS = (
    _Gpu("gtx1080ti"),
    _Gpu("v100"),
    _Gpu("t4"),
    _Gpu("a100", ("linux", "linux-aarch64", "windows")),
    _Gpu("rtx3090"),
    _Gpu("l4", ("linux", "linux-aarch64", "windows")),
    _Gpu("rtx4090"),
    _Gpu("h100"),
    _Gpu("gh200", _ARM),
    _Gpu("b200", ("linux",)),
    _Gpu("gb200", _ARM),
    _Gpu("rtx5090"),
    _Gpu("b300", ("linux",)),
    _Gpu("gb300", _ARM),
    _Gpu("gb10", _ARM),
)


def default_targets(platforms: Iterable[str]) -> tuple[str, ...]:
    """The targets of a package that is for these platforms, as ``--deploy-target`` takes them.

    Args:
        platforms: those of its tags: ``manylinux_2_28_x86_64``, ``win_amd64``; none: Linux.
    """
    return _for_system(_system(tuple(platforms)))


@functools.cache
def _for_system(system: str) -> tuple[str, ...]:
    """The targets of a system; a survey wants them for each package."""
    prefix = "" if system == "linux" else f"os={system},"
    found = []
    for branch in _BRANCHES:
        names = [gpu.name for gpu in _GPUS if system in gpu.systems and _runs(branch, gpu.name)]
        driver = _newest_driver(branch, system)
        found.append(f"{prefix}driver={driver},gpu={'+'.join(names)}")
    return tuple(found)


def _newest_driver(branch: int, system: str) -> str:
    """The newest driver of a branch that is known by number; else the branch.

    Only drivers that came with a toolkit are known for Windows, where they have other numbers.
    """
    if system == "windows":
        rows = toolkit_drivers()
        known = [r.windows for r in rows if r.windows and (r.linux or "").startswith(f"{branch}.")]
    else:
        known = [str(release) for release in driver_releases(branch)]
    return known[-1] if known else str(branch)


def _runs(branch: int, gpu: str) -> bool:
    """Return whether the drivers of a branch run a GPU."""
    found = sm(find_gpu(gpu).arch.number)
    if found is None:
        return False
    return (found.first_branch or 0) <= branch <= (found.last_branch or branch)


def _system(platforms: tuple[str, ...]) -> str:
    if platforms and all(platform.startswith("win") for platform in platforms):
        return "windows"
    arm = ("aarch64", "sbsa")
    if platforms and all(platform.endswith(arm) for platform in platforms):
        return "linux-aarch64"
    return "linux"
