"""The nvJitLink, NVRTC, CUDA runtime and libNVVM that each way of loading gets; none is loaded.

Two ways: dlopen by soname (ld.so's rules), and cuda-pathfinder, by which cuda-python, cuda.core
and numba-cuda load. Its order (``cuda/pathfinder/_dynamic_libs``, 1.9.0): site-packages, conda,
what is loaded already, dlopen by soname, CUDA_PATH (else CUDA_HOME), and for libNVVM the toolkit
that a dlopen of libcudart leads to.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter

from msgspec import Struct

from ltocompat.model.environment import LibraryPick
from ltocompat.model.library_name import LDSO, PATHFINDER
from ltocompat.targets.linkers.machine import Machine
from ltocompat.targets.linkers.places import package_folders
from ltocompat.targets.machine.loader import Loader


class _Library(Struct, frozen=True):
    """A library as cuda-pathfinder describes it (``descriptor_catalog.py``).

    Attributes:
        sonames: in the order in which it tries them.
        in_wheels: folders in site-packages.
        in_roots: folders in a toolkit or in conda.
        by_cudart: it lies where no loader looks: libcudart leads to its toolkit.
    """

    sonames: tuple[str, ...]
    in_wheels: tuple[str, ...]
    in_roots: tuple[str, ...] = ("lib64", "lib")
    by_cudart: bool = False


_CU13 = "nvidia/cu13/lib"
LIBRARIES = {
    "nvJitLink": _Library(
        ("libnvJitLink.so.13", "libnvJitLink.so.12"), (_CU13, "nvidia/nvjitlink/lib")
    ),
    "nvrtc": _Library(("libnvrtc.so.13", "libnvrtc.so.12"), (_CU13, "nvidia/cuda_nvrtc/lib")),
    "cudart": _Library(("libcudart.so.13", "libcudart.so.12"), (_CU13, "nvidia/cuda_runtime/lib")),
    "nvvm": _Library(
        ("libnvvm.so.4", "libnvvm.so"),
        (_CU13, "nvidia/cuda_nvcc/nvvm/lib64"),
        ("nvvm/lib64",),
        by_cudart=True,
    ),
}


def picks(machine: Machine, versions: Mapping[str, str | None]) -> Iterator[LibraryPick]:
    """Yield the files that each loading method finds for each library.

    Args:
        machine: the machine.
        versions: the version of each known copy, by its real path.
    """
    for name, library in LIBRARIES.items():
        for soname in library.sonames:
            # Each in a process of its own: nothing else is loaded yet.
            found = _loader(machine).resolve(soname)
            version = versions.get(found.real or "")
            yield LibraryPick(name, LDSO, soname, found.path, found.real, found.found_by, version)
        path, by = next(filter(itemgetter(0), _steps(machine, library)), (None, "not found"))
        real = machine.real(path) if path else None
        file = os.path.basename(path or "")
        text = file if file in library.sonames else library.sonames[0]
        yield LibraryPick(name, PATHFINDER, text, path, real, by, versions.get(real or ""))


def _loader(machine: Machine) -> Loader:
    return Loader(machine, machine.python or None)


def _steps(machine: Machine, library: _Library) -> Iterator[tuple[str | None, str]]:
    """What each step of cuda-pathfinder finds, in its order, and what the step is called."""
    environ = machine.environ
    wheels = (
        os.path.join(site, folder) for folder in library.in_wheels for site in _sites(machine)
    )
    yield _first(machine, wheels, library), "site-packages"
    yield _below(machine, environ.get("CONDA_PREFIX"), library), "conda"
    for soname in library.sonames:
        found = _loader(machine).resolve(soname)
        yield found.path, f"system search: {found.found_by}"
    variable = "CUDA_PATH" if environ.get("CUDA_PATH") else "CUDA_HOME"
    yield _below(machine, environ.get(variable), library), variable
    if library.by_cudart:
        yield _below(machine, _toolkit_by_cudart(machine), library), "toolkit of libcudart"


def _sites(machine: Machine) -> list[str]:
    """Folders of packages in the order of this Python; of all at hand where it is unknown."""
    ends = ("site-packages", "dist-packages")
    own = [text for text in machine.search_path if os.path.basename(text) in ends]
    return own or package_folders(machine)


def _below(machine: Machine, root: str | None, library: _Library) -> str | None:
    folders = (os.path.join(root, folder) for folder in library.in_roots if root)
    return _first(machine, folders, library)


def _first(machine: Machine, folders: Iterable[str], library: _Library) -> str | None:
    paths = (os.path.join(folder, soname) for folder in folders for soname in library.sonames)
    return next(filter(machine.is_file, paths), None)


def _toolkit_by_cudart(machine: Machine) -> str | None:
    """The root above the libcudart that a dlopen gets: above ``lib64`` or ``targets/*/lib``."""
    found = (_loader(machine).resolve(soname).path for soname in LIBRARIES["cudart"].sonames)
    path = next(filter(None, found), None)
    folder = os.path.dirname(path) if path else ""
    if os.path.basename(folder) not in ("lib64", "lib"):
        return None
    above = os.path.dirname(folder)
    beyond = os.path.dirname(above)
    return os.path.dirname(beyond) if os.path.basename(beyond) == "targets" else above
