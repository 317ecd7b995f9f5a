"""The deploy targets of a survey that names none: driver branches with the GPUs of their time.

Which numbers a driver has and which branches run a GPU is in our tables of facts, a source a row.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from ltocompat.facts import rows
from ltocompat.facts.drivers import ToolkitDriver, driver_releases
from ltocompat.facts.gpus import find_gpu, runs, sm
from ltocompat.model.target import DriverVersion
from ltocompat.packages.values import system_of

# The two that NVIDIA supports for long, the newest, and those that came with CUDA 12.4, 12.8 and
# 13.2 (drivers.toml): each the first for new PTX versions, two of them for new GPUs.
_BRANCHES = (535, 550, 570, 580, 595, 615)


# A consumer's and a data centre's GPU of each architecture, by the systems that they are surveyed
# for. Of those without a slot (gpus.toml: ``cpu``) the CPU is Arm; B200 and B300 are sold in HGX
# and DGX servers, whose software is for Linux (NVIDIA, DGX B200 and B300 user guides).
_GPUS = {
    "linux": "gtx1080ti v100 t4 a100 rtx3090 l4 rtx4090 h100 b200 rtx5090 b300",
    "linux-aarch64": "a100 l4 gh200 gb200 gb300 gb10",
    "windows": "gtx1080ti v100 t4 a100 rtx3090 l4 rtx4090 h100 rtx5090",
}


def default_targets(platforms: Iterable[str]) -> tuple[str, ...]:
    """Return the targets of a package for these platforms, as ``--deploy-target`` accepts them.

    Args:
        platforms: the platforms of its tags: ``manylinux_2_28_x86_64``, ``win_amd64``; none: Linux.
    """
    return _for_system(system_of(tuple(platforms)))


@functools.cache
def _for_system(system: str) -> tuple[str, ...]:
    """The targets of a system; a survey wants them for each package."""
    prefix = "" if system == "linux" else f"os={system},"
    found = []
    gpus = {gpu: sm(find_gpu(gpu).arch.number) for gpu in _GPUS[system].split()}
    for branch in _BRANCHES:
        driver = DriverVersion((branch,))
        names = [gpu for gpu, row in gpus.items() if row is not None and runs(row, driver)]
        found.append(f"{prefix}driver={_newest_driver(branch, system)},gpu={'+'.join(names)}")
    return tuple(found)


def _newest_driver(branch: int, system: str) -> str:
    """The newest driver of a branch that is known by number; else the branch.

    Only drivers that came with a toolkit are known for Windows, where they have other numbers.
    """
    if system == "windows":
        every = rows(ToolkitDriver)
        known = [r.windows for r in every if r.windows and (r.linux or "").startswith(f"{branch}.")]
    else:
        known = [str(release) for release in driver_releases(branch)]
    return known[-1] if known else str(branch)
