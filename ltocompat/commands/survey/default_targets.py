"""The deploy targets of a survey that names none: driver branches with the GPUs of their time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class _Branch(NamedTuple):
    """A driver branch: its newest driver that is known by number, else the branch."""

    number: int
    linux: str
    windows: str


_BRANCHES = (
    _Branch(535, "535.104.05", "537.13"),
    _Branch(550, "550.54.15", "551.78"),
    _Branch(570, "570.124.06", "572.61"),
    _Branch(580, "580.159.04", "580"),
    _Branch(595, "595.58.03", "595"),
    _Branch(615, "615", "615"),
)


class _Gpu(NamedTuple):
    """A GPU, the first and last branch that survey it, and the systems that it is sold for."""

    name: str
    first: int = 0
    last: int = 10_000
    systems: tuple[str, ...] = ("linux", "windows")


_ARM = ("linux-aarch64",)
_GPUS = (
    _Gpu("gtx1080ti", last=580),
    _Gpu("v100", last=580),
    _Gpu("t4"),
    _Gpu("a100", systems=("linux", "linux-aarch64", "windows")),
    _Gpu("rtx3090"),
    _Gpu("l4", systems=("linux", "linux-aarch64", "windows")),
    _Gpu("rtx4090"),
    _Gpu("h100"),
    _Gpu("gh200", systems=_ARM),
    _Gpu("b200", first=570, systems=("linux",)),
    _Gpu("gb200", first=570, systems=_ARM),
    _Gpu("rtx5090", first=570),
    _Gpu("b300", first=580, systems=("linux",)),
    _Gpu("gb300", first=580, systems=_ARM),
    _Gpu("gb10", first=580, systems=_ARM),
)


def default_targets(platforms: Iterable[str]) -> tuple[str, ...]:
    """The targets of a package that is for these platforms, as ``--deploy-target`` takes them.

    Args:
        platforms: those of its tags: ``manylinux_2_28_x86_64``, ``win_amd64``; none: Linux.
    """
    system = _system(tuple(platforms))
    prefix = "" if system == "linux" else f"os={system},"
    found = []
    for branch in _BRANCHES:
        driver = branch.windows if system == "windows" else branch.linux
        names = [
            gpu.name
            for gpu in _GPUS
            if system in gpu.systems and gpu.first <= branch.number <= gpu.last
        ]
        found.append(f"{prefix}driver={driver},gpu={'+'.join(names)}")
    return tuple(found)


def _system(platforms: tuple[str, ...]) -> str:
    if platforms and all(platform.startswith("win") for platform in platforms):
        return "windows"
    arm = ("aarch64", "sbsa")
    if platforms and all(platform.endswith(arm) for platform in platforms):
        return "linux-aarch64"
    return "linux"
