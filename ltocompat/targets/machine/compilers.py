"""Every NVRTC, libNVVM and CUDA runtime that can be reached, told by bytes like nvJitLink."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from msgspec.structs import replace

from ltocompat.model.arch import Release
from ltocompat.model.environment import Compiler, InstalledPackage, Toolkit
from ltocompat.model.errors import LtocompatError
from ltocompat.model.limits import Budget
from ltocompat.targets.linkers.identify import banners
from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.linkers.places import listed_folders, package_folders

_FILES = {"nvrtc": "libnvrtc.so*", "nvvm": "libnvvm.so*", "cudart": "libcudart.so*"}
_IN_WHEELS: tuple[str, ...] = ("nvidia/*/lib", "nvidia/*/nvvm/lib64")
_IN_TOOLKITS = ("lib64", "lib", "targets/*/lib", "nvvm/lib64")
_NUMBERED = re.compile(r"lib(?:nvrtc|cudart)\.so\.([0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9})")
_BUILTINS = re.compile(r"libnvrtc-builtins\.so\.([0-9]{1,9}\.[0-9]{1,9})(?:\.[0-9]{1,9})?")
# Packages that bring the library; libNVVM's own number (4.0.0) is not a CUDA release.
_WHEELS = {
    "nvrtc": ("nvidia-cuda-nvrtc",),
    "nvvm": ("nvidia-nvvm", "nvidia-cuda-nvcc"),
    "cudart": ("nvidia-cuda-runtime",),
}


def compilers(
    machine: Machine,
    toolkits: Sequence[Toolkit],
    wheels: Sequence[InstalledPackage],
    cached: Sequence[str],
) -> tuple[Compiler, ...]:
    """Every copy once, by path.

    Args:
        machine: where to look.
        toolkits: the toolkits of this machine.
        wheels: its packages.
        cached: files that the loader's cache knows.
    """
    ways: dict[tuple[str, str], list[str]] = {}
    folders = list(_folders(machine, toolkits))
    for library, pattern in _FILES.items():
        stem = pattern.removesuffix("*")
        paths = [(path, via) for folder, via in folders for path in machine.files(folder, pattern)]
        paths += [
            (path, "ld.so.cache") for path in cached if os.path.basename(path).startswith(stem)
        ]
        for path, way in paths:
            if machine.is_file(path) and "stubs" not in path.split("/"):
                ways.setdefault((library, machine.real(path)), []).append(way)
    found = []
    for (library, path), via in sorted(ways.items()):
        builtins = _builtins(machine, path) if library == "nvrtc" else ()
        copy = Compiler(library, path, ", ".join(dict.fromkeys(via)), None, None, builtins)
        version, evidence = _version(machine, copy, toolkits, wheels)
        found.append(replace(copy, version=version, evidence=evidence))
    return tuple(found)


def _folders(machine: Machine, toolkits: Iterable[Toolkit]) -> Iterator[tuple[str, str]]:
    roots = [(folder, _IN_WHEELS, "wheel in site-packages") for folder in package_folders(machine)]
    if prefix := machine.environ.get("CONDA_PREFIX"):
        roots.append((prefix, _IN_TOOLKITS, "conda"))
    roots += [(toolkit.root, _IN_TOOLKITS, ", ".join(toolkit.reached)) for toolkit in toolkits]
    for root, patterns, via in roots:
        yield from ((found, via) for found in machine.files(root, *patterns))
    for folder in listed_folders(machine, "LD_LIBRARY_PATH"):
        yield folder, "LD_LIBRARY_PATH"


def _builtins(machine: Machine, path: str) -> tuple[Release, ...]:
    beside = machine.files(os.path.dirname(path), "libnvrtc-builtins.so.*")
    matches = filter(None, (_BUILTINS.fullmatch(os.path.basename(file)) for file in beside))
    return tuple(sorted({Release.parse(match[1]) for match in matches}))


def _version(
    machine: Machine,
    copy: Compiler,
    toolkits: Iterable[Toolkit],
    wheels: Iterable[InstalledPackage],
) -> tuple[str | None, str | None]:
    """The version, and what says so, best first."""
    path = copy.path
    banners = banner_versions(machine, path)
    if len(banners) == 1:
        return banners.pop(), "file banner"
    if numbered := _NUMBERED.fullmatch(os.path.basename(path)):
        return numbered[1], "file name"
    for package in wheels:
        inside = path.startswith(os.path.join(machine.real(package.folder), ""))
        named = package.name.startswith(_WHEELS[copy.library])
        if inside and named and _records(machine, package, path):
            return package.version, "dist-info"
    if len(copy.builtins) == 1:
        return str(copy.builtins[0]), "builtins beside it"
    for toolkit in toolkits:
        if toolkit.version and path.startswith(os.path.join(toolkit.root, "")):
            return toolkit.version, f"its toolkit's {toolkit.evidence}"
    return None, None


def banner_versions(machine: Machine, path: str) -> set[str]:
    """The versions in a library's own banner; empty where it has none or can't be read."""
    from ltocompat.files.objects.elf_host import read_elf

    with suppress(LtocompatError), machine.viewed(path) as view:
        budget = Budget()
        if host := read_elf(view, budget):
            return banners(view, budget, host.data_spans())
    return set()


def _records(machine: Machine, package: InstalledPackage, path: str) -> bool:
    """Return whether a package lists the file as its own."""
    inside = os.path.relpath(path, machine.real(package.folder))
    stem = f"{package.name.replace('-', '_')}-{package.version}"
    record = machine.text(os.path.join(package.folder, f"{stem}.dist-info", "RECORD")) or ""
    return any(line.startswith(f"{inside},") for line in record.splitlines())
