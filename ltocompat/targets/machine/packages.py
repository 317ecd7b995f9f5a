"""Installed packages of Python and conda that bring CUDA, by what their metadata says."""

from __future__ import annotations

import json
import os
import re

from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.linkers.places import package_folders
from ltocompat.targets.machine.environment import Conda, InstalledPackage

_WHEELS = re.compile(r"(?:nvidia|cuda|numba-cuda|pynvjitlink|cupy-cuda)(?:-.*)?")
_CONDA = ("cuda-*.json", "cuda*.json", "libnvjitlink*.json", "libnvptxcompiler*.json")
_FIELD = re.compile(r"^(Name|Version): *(\S+)", re.MULTILINE)
_MOST_METADATA = 64 << 10


def wheels(machine: Machine) -> tuple[InstalledPackage, ...]:
    """Distributions of NVIDIA, and those that drive CUDA, in every Python that is at hand."""
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
    """The active conda environment, with its packages of CUDA."""
    prefix = machine.environ.get("CONDA_PREFIX")
    if not prefix or not machine.is_folder(os.path.join(prefix, "conda-meta")):
        return None
    found = set()
    for path in machine.files(os.path.join(prefix, "conda-meta"), *_CONDA):
        try:
            value = json.loads(machine.text(path) or "")
        except (ValueError, RecursionError):
            continue
        match value:
            case {"name": str(name), "version": str(version)}:
                found.add(InstalledPackage(name, version, prefix))
            case {"version": str(version)}:
                name = os.path.basename(path).rsplit("-", 2)[0]
                found.add(InstalledPackage(name, version, prefix))
    return Conda(prefix, tuple(sorted(found)))
