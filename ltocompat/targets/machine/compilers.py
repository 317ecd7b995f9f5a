"""Every NVRTC and libNVVM that can be reached, told by bytes like nvJitLink."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from ltocompat.model.arch import Release
from ltocompat.model.errors import LtocompatError
from ltocompat.model.limits import Budget
from ltocompat.targets.linkers.identify import banners
from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.linkers.places import listed_folders, package_folders
from ltocompat.targets.machine.environment import Compiler, InstalledPackage, Toolkit

_FILES = {"nvrtc": "libnvrtc.so*", "nvvm": "libnvvm.so*"}
_IN_WHEELS = ("nvidia/*/lib", "nvidia/*/nvvm/lib64")
_IN_TOOLKITS = ("lib64", "lib", "targets/*/lib", "nvvm/lib64")
_NUMBERED = re.compile(r"libnvrtc\.so\.([0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9})")
_BUILTINS = re.compile(r"libnvrtc-builtins\.so\.([0-9]{1,9}\.[0-9]{1,9})(?:\.[0-9]{1,9})?")
# Packages that bring the library; libNVVM's own number (4.0.0) is no CUDA release.
_WHEELS = {"nvrtc": ("nvidia-cuda-nvrtc",), "nvvm": ("nvidia-nvvm", "nvidia-cuda-nvcc")}


def compilers(
    machine: Machine,
    toolkits: Iterable[Toolkit],
    wheels: Iterable[InstalledPackage],
    cached: Iterable[str],
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
        for path, via in paths:
            if machine.is_file(path) and "stubs" not in path.split("/"):
                ways.setdefault((library, machine.real(path)), []).append(via)
    return tuple(
        _described(machine, library, path, via, (tuple(toolkits), tuple(wheels)))
        for (library, path), via in sorted(ways.items())
    )


def _folders(machine: Machine, toolkits: Iterable[Toolkit]) -> Iterator[tuple[str, str]]:
    for folder in package_folders(machine):
        for found in machine.files(folder, *_IN_WHEELS):
            yield found, "wheel in site-packages"
    if prefix := machine.environ.get("CONDA_PREFIX"):
        for found in machine.files(prefix, *_IN_TOOLKITS):
            yield found, "conda"
    for toolkit in toolkits:
        for found in machine.files(toolkit.root, *_IN_TOOLKITS):
            yield found, ", ".join(toolkit.reached)
    for folder in listed_folders(machine, "LD_LIBRARY_PATH"):
        yield folder, "LD_LIBRARY_PATH"


def _described(
    machine: Machine,
    library: str,
    path: str,
    via: list[str],
    packages: tuple[tuple[Toolkit, ...], tuple[InstalledPackage, ...]],
) -> Compiler:
    beside = machine.files(os.path.dirname(path), "libnvrtc-builtins.so.*")
    minors = {
        Release.parse(match[1])
        for file in beside
        if (match := _BUILTINS.fullmatch(os.path.basename(file)))
    }
    builtins = tuple(sorted(minors)) if library == "nvrtc" else ()
    version, evidence = _version(machine, library, path, builtins, packages)
    return Compiler(library, path, ", ".join(dict.fromkeys(via)), version, evidence, builtins)


def _version(
    machine: Machine,
    library: str,
    path: str,
    builtins: tuple[Release, ...],
    packages: tuple[tuple[Toolkit, ...], tuple[InstalledPackage, ...]],
) -> tuple[str | None, str | None]:
    """The version, and what says so, best first."""
    banners = banner_versions(machine, path)
    if len(banners) == 1:
        return banners.pop(), "file banner"
    if numbered := _NUMBERED.fullmatch(os.path.basename(path)):
        return numbered[1], "file name"
    toolkits, wheels = packages
    for package in wheels:
        inside = path.startswith(os.path.join(machine.real(package.folder), ""))
        named = package.name.startswith(_WHEELS[library])
        if inside and named and _records(machine, package, path):
            return package.version, "dist-info"
    if len(builtins) == 1:
        return str(builtins[0]), "builtins beside it"
    for toolkit in toolkits:
        if toolkit.version and path.startswith(os.path.join(toolkit.root, "")):
            return toolkit.version, f"its toolkit's {toolkit.evidence}"
    return None, None


def banner_versions(machine: Machine, path: str) -> set[str]:
    """The versions in a library's own banner; empty where it has none or can't be read."""
    from ltocompat.files.objects.elf_host import read_elf

    try:
        with machine.viewed(path) as view:
            budget = Budget()
            host = read_elf(view, budget)
            return banners(view, budget, host.data_spans()) if host else set()
    except LtocompatError:
        return set()


def _records(machine: Machine, package: InstalledPackage, path: str) -> bool:
    """Return whether a package lists the file as its own."""
    inside = os.path.relpath(path, machine.real(package.folder))
    stem = f"{package.name.replace('-', '_')}-{package.version}"
    record = machine.text(os.path.join(package.folder, f"{stem}.dist-info", "RECORD")) or ""
    return any(line.startswith(f"{inside},") for line in record.splitlines())
