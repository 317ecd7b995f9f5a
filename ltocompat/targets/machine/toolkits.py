"""Installed CUDA toolkits and what leads to each, and packages that bring CUDA."""

from __future__ import annotations

import os
import re

from ltocompat.model.environment import Conda, InstalledPackage, Toolkit
from ltocompat.model.words import json_object
from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.linkers.places import package_folders, toolkit_roots

_NVCC = re.compile(r"release [0-9]{1,9}\.[0-9]{1,9}, V([0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9})")
_HEADER = re.compile(r"^#define\s+CUDA_VERSION\s+([0-9]{4,6})\s*$", re.MULTILINE)
_TEXT = re.compile(r"CUDA Version ([0-9]{1,9}\.[0-9]{1,9}(?:\.[0-9]{1,9})?)")
_VERSION = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}(?:\.[0-9]{1,9})?")
_HEADERS = ("include/cuda.h", "targets/x86_64-linux/include/cuda.h", "targets/*/include/cuda.h")
_PROGRAMS = ("bin/nvcc", "bin/ptxas", "bin/nvlink", "version.json", "version.txt", *_HEADERS)


def toolkits(machine: Machine) -> tuple[Toolkit, ...]:
    """Return every toolkit once, in the order of CUDA_HOME, CUDA_PATH, PATH, /usr/local."""
    return tuple(
        _described(machine, root, tuple(dict.fromkeys(reached)))
        for root, reached in toolkit_roots(machine).items()
        if machine.files(root, *_PROGRAMS)
    )


def _described(machine: Machine, root: str, reached: tuple[str, ...]) -> Toolkit:
    version, evidence = _version(machine, root)
    return Toolkit(
        root=root,
        reached=reached,
        version=version,
        evidence=evidence,
        nvcc=machine.is_file(os.path.join(root, "bin/nvcc")),
        nvlink=machine.is_file(os.path.join(root, "bin/nvlink")),
    )


def _version(machine: Machine, root: str) -> tuple[str | None, str | None]:
    """The compiler's number, else the toolkit's; only its minor means anything in compatibility."""
    nvcc = os.path.join(root, "bin/nvcc")
    if machine.is_file(nvcc) and (match := _NVCC.search(machine.run([nvcc, "--version"]))):
        return match[1], "nvcc --version"
    if version := _by_json(machine.text(os.path.join(root, "version.json"))):
        return version, "version.json"
    if match := _TEXT.search(machine.text(os.path.join(root, "version.txt")) or ""):
        return match[1], "version.txt"
    for header in machine.files(root, *_HEADERS):
        if match := _HEADER.search(machine.text(header) or ""):
            code = int(match[1])
            return f"{code // 1000}.{code % 1000 // 10}", "cuda.h"
    return None, None


def _by_json(text: str | None) -> str | None:
    parts = json_object(text)
    for name in ("cuda_nvcc", "cuda"):
        match parts.get(name):
            case {"version": str(version)} if _VERSION.fullmatch(version):
                return version
    return None


_WHEELS = re.compile(r"(?:nvidia|cuda|numba-cuda|pynvjitlink|cupy-cuda)(?:-.*)?")
_CONDA = ("cuda-*.json", "cuda*.json", "libnvjitlink*.json", "libnvptxcompiler*.json")
_FIELD = re.compile(r"^(Name|Version): *(\S+)", re.MULTILINE)
_MOST_METADATA = 64 << 10


def wheels(machine: Machine) -> tuple[InstalledPackage, ...]:
    """Return NVIDIA's distributions, and distributions that use CUDA, in every available Python."""
    found = set()
    # A virtual environment's lib64 is a link to its lib.
    folders = {machine.real(folder): folder for folder in reversed(package_folders(machine))}
    for folder in folders.values():
        for info in machine.files(folder, "*.dist-info"):
            stem = os.path.basename(info).removesuffix(".dist-info")
            name, _, version = stem.partition("-")
            name = re.sub(r"[-_.]+", "-", name).lower()
            if not _WHEELS.fullmatch(name):
                continue
            data = machine.read_bytes(os.path.join(info, "METADATA"), _MOST_METADATA) or b""
            # The description below the first empty line is anybody's text.
            head = data.decode("utf-8", "replace").partition("\n\n")[0]
            fields = dict(_FIELD.findall(head))
            found.add(InstalledPackage(name, fields.get("Version", version), folder))
    return tuple(sorted(found))


def conda(machine: Machine) -> Conda | None:
    """Return the active conda environment with its CUDA packages."""
    prefix = machine.environ.get("CONDA_PREFIX")
    if not prefix or not machine.is_folder(os.path.join(prefix, "conda-meta")):
        return None
    found = set()
    for path in machine.files(os.path.join(prefix, "conda-meta"), *_CONDA):
        match json_object(machine.text(path)):
            case {"name": str(name), "version": str(version)}:
                found.add(InstalledPackage(name, version, prefix))
            case {"version": str(version)}:
                name = os.path.basename(path).rsplit("-", 2)[0]
                found.add(InstalledPackage(name, version, prefix))
    return Conda(prefix, tuple(sorted(found)))
