"""Every NVRTC, libNVVM and CUDA runtime that can be reached, told by bytes like nvJitLink."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from msgspec.structs import replace

from ltocompat.model.arch import Release
from ltocompat.model.environment import Compiler, Toolkit
from ltocompat.model.errors import LtocompatError
from ltocompat.model.generic import grouped
from ltocompat.model.limits import Budget
from ltocompat.targets.linkers.identify import banners
from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.linkers.places import COMPILERS, places
from ltocompat.targets.linkers.searching import recorded_versions

_NUMBERED = re.compile(r"lib(?:nvrtc|cudart)\.so\.([0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9})")
_BUILTINS = re.compile(r"libnvrtc-builtins\.so\.([0-9]{1,9}\.[0-9]{1,9})(?:\.[0-9]{1,9})?")
# Packages that bring the library; libNVVM's own number (4.0.0) is not a CUDA release.
_WHEELS = {
    "nvrtc": ("nvidia_cuda_nvrtc*",),
    "nvvm": ("nvidia_nvvm*", "nvidia_cuda_nvcc*"),
    "cudart": ("nvidia_cuda_runtime*",),
}


def compilers(machine: Machine, toolkits: Sequence[Toolkit]) -> tuple[Compiler, ...]:
    """Return every copy once, by path.

    Args:
        machine: the machine.
        toolkits: the toolkits of this machine.
    """
    found = []
    for library in COMPILERS:
        ways = grouped(
            (machine.real(path), via)
            for path, via in places(machine, library)
            if machine.is_file(path) and "stubs" not in path.split("/")
        )
        for path, reached in sorted(ways.items()):
            via = ", ".join(dict.fromkeys(reached))
            builtins = _builtins(machine, path) if library == "nvrtc" else ()
            copy = Compiler(library, path, via, None, None, builtins)
            version, evidence = _version(machine, copy, toolkits)
            found.append(replace(copy, version=version, evidence=evidence))
    return tuple(found)


def _builtins(machine: Machine, path: str) -> tuple[Release, ...]:
    beside = machine.files(os.path.dirname(path), "libnvrtc-builtins.so.*")
    matches = filter(None, (_BUILTINS.fullmatch(os.path.basename(file)) for file in beside))
    return tuple(sorted({Release.parse(match[1]) for match in matches}))


def _version(
    machine: Machine, copy: Compiler, toolkits: Iterable[Toolkit]
) -> tuple[str | None, str | None]:
    """The version, and what says so, best first."""
    path = copy.path
    banners = banner_versions(machine, path)
    if len(banners) == 1:
        return banners.pop(), "file banner"
    if numbered := _NUMBERED.fullmatch(os.path.basename(path)):
        return numbered[1], "file name"
    for recorded in recorded_versions(machine, path, *_WHEELS[copy.library]):
        return recorded, "dist-info"
    if len(copy.builtins) == 1:
        return str(copy.builtins[0]), "builtins beside it"
    for toolkit in toolkits:
        if toolkit.version and path.startswith(os.path.join(toolkit.root, "")):
            return toolkit.version, f"its toolkit's {toolkit.evidence}"
    return None, None


def banner_versions(machine: Machine, path: str) -> set[str]:
    """Return the versions in a library's banner; empty if it has none or can't be read."""
    from ltocompat.files.objects.elf_host import read_elf

    with suppress(LtocompatError), machine.viewed(path) as view:
        budget = Budget()
        if host := read_elf(view, budget):
            return banners(view, budget, host.data_spans())
    return set()
