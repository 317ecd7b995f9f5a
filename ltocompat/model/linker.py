"""One linker on a machine, as a value."""

from __future__ import annotations

import enum

from msgspec import Struct

from ltocompat.model.arch import Release, version_numbers


class Tool(enum.StrEnum):
    """The two linkers of device code; the values are the keys of a deploy target.

    nvJitLink is a library that programs call to link code while they run. nvlink is the
    command-line linker that links device code when a program is built.
    """

    NVJITLINK = "nvjitlink"
    NVLINK = "nvlink"

    @property
    def label(self) -> str:
        """The name as NVIDIA writes it."""
        return "nvJitLink" if self is Tool.NVJITLINK else "nvlink"


class Linker(Struct, frozen=True):
    """A copy of nvJitLink or nvlink on this machine.

    Attributes:
        release: the minor release, such as 12.4.
        version: the most exact version that the evidence proves: ``12.4.127``, or only ``12.4``.
        path: absolute path of the file itself, after all symbolic links are followed.
        found_via: the places or search rules that lead to this copy, separated by commas: ``trial
            cache``, ``wheel in site-packages``, ``conda``, ``ld.so.cache`` ...
        evidence: what proves the version: ``file banner``, ``exported symbols`` ...
        machine: the processor for which the linker is built: ``x86-64``, ``AArch64``.
        for_trials: True if the copy is in the trial cache; deploy targets never use such a copy.
        tool: nvJitLink or nvlink.
    """

    release: Release
    version: str
    path: str
    found_via: str
    evidence: str
    for_trials: bool = False
    machine: str = ""
    tool: Tool = Tool.NVJITLINK

    def __str__(self) -> str:
        """``nvJitLink 12.4.127``."""
        return f"{self.tool.label} {self.version}"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version to sort by."""
        return version_numbers(self.version)
