"""Places where copies of CUDA's linkers, compilers and runtime can lie on a machine.

Layouts: wheels of 12 (``nvidia/nvjitlink/lib``) and 13 (``nvidia/cu13/lib``), on Windows ``bin``
and ``bin/x86_64``; the rest is what cuda-pathfinder looks at (compatibility.md 10).
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from msgspec import Struct

from ltocompat.model.errors import Malformed
from ltocompat.model.generic import grouped
from ltocompat.model.linker import Tool
from ltocompat.targets.linkers.ldcache import cached_paths
from ltocompat.targets.linkers.machine import Machine

_PACKAGES = (
    "lib/python3*/site-packages",
    "lib/python3*/dist-packages",
    "lib/python3/dist-packages",
    "local/lib/python3*/dist-packages",
    "lib64/python3*/site-packages",
    "Lib/site-packages",
)
_TOOLKIT_VARIABLE = re.compile(r"CUDA_HOME|CUDA_PATH(_V[0-9]{1,9}_[0-9]{1,9})?")
_NVCC_BEHIND = re.compile(rb"(?<![\w.])/[\w./+-]+/bin/nvcc(?![\w.-])")
_MOST_SCRIPT = 4096


class _Layout(Struct, frozen=True):
    """Folders in which a library or a program lies.

    Attributes:
        names: of its file.
        in_wheels: below a folder of ``nvidia`` in site-packages.
        in_conda: below conda's prefix.
        in_toolkits: below the root of a toolkit.
    """

    names: tuple[str, ...]
    in_wheels: tuple[str, ...] = ("bin",)
    in_conda: tuple[str, ...] = ("bin",)
    in_toolkits: tuple[str, ...] = ("bin",)


COMPILERS = ("cudart", "nvrtc", "nvvm")
_OF_COMPILERS = ("lib64", "lib", "targets/*/lib", "nvvm/lib64")
_LAYOUTS = {
    Tool.NVLINK: _Layout(("nvlink", "nvlink.exe")),
    Tool.NVJITLINK: _Layout(
        ("libnvJitLink.so*", "nvJitLink_*.dll"),
        ("lib", "bin", "bin/x86_64"),
        ("lib", "targets/*/lib", "Library/bin", "Library/bin/x64"),
        ("lib64", "lib", "targets/*/lib", "bin", "bin/x64", "bin/x86_64"),
    ),
    **{
        name: _Layout((f"lib{name}.so*",), ("lib", "nvvm/lib64"), _OF_COMPILERS, _OF_COMPILERS)
        for name in COMPILERS
    },
}


def places(machine: Machine, name: str) -> Iterator[tuple[str, str]]:
    """Yield paths that look like this file, and how each is found; a file may occur twice.

    Args:
        machine: the machine.
        name: a ``Tool``, or one of ``COMPILERS``.
    """
    layout = _LAYOUTS[name]
    for root, folders, via in _roots(machine, layout):
        patterns = [f"{folder}/{file}" for folder in folders for file in layout.names]
        yield from ((path, via) for path in machine.files(root, *patterns))
    with suppress(Malformed):  # which the loader's rules tell
        for path in cached_paths(machine):
            if fnmatch.fnmatch(os.path.basename(path), layout.names[0]):
                yield path, "ld.so.cache"
    # Windows looks for libraries in PATH, where Linux has none.
    shared = [file for file in layout.names if ".so" in file]
    others = [file for file in layout.names if ".so" not in file]
    for variable, names in (("LD_LIBRARY_PATH", shared), ("PATH", others)):
        for folder in listed_folders(machine, variable):
            yield from ((path, variable) for path in machine.files(folder, *names))


def _roots(machine: Machine, layout: _Layout) -> Iterator[tuple[str, Iterable[str], str]]:
    """Roots of what brings CUDA, the folders in each, and how it is reached."""
    in_wheels = [f"nvidia/*/{folder}" for folder in layout.in_wheels]
    for folder in package_folders(machine):
        yield folder, in_wheels, "wheel in site-packages"
    if prefix := machine.environ.get("CONDA_PREFIX"):
        yield prefix, layout.in_conda, "conda"
    for root, reached in toolkit_roots(machine).items():
        yield root, layout.in_toolkits, ", ".join(reached)


def toolkit_roots(machine: Machine) -> dict[str, list[str]]:
    """Return each toolkit's root, and how it is found: CUDA_HOME, CUDA_PATH, PATH, /usr/local."""
    variables = sorted(filter(_TOOLKIT_VARIABLE.fullmatch, machine.environ))
    found = [(machine.environ[name], name) for name in variables if machine.environ[name]]
    nvccs = (os.path.join(folder, "nvcc") for folder in listed_folders(machine, "PATH"))
    first = next(filter(machine.is_file, nvccs), None)  # only that one runs
    if first is not None:
        found.append((_root_of(machine, first), "PATH"))
    found += [(path, path) for path in machine.files("/usr/local", "cuda", "cuda-*")]
    return grouped((machine.real(root), way) for root, way in found)


def _root_of(machine: Machine, nvcc: str) -> str:
    """The toolkit of an nvcc; Debian's in /usr/bin is a script that runs the real one."""
    real = machine.real(nvcc)
    head = machine.read_bytes(real, _MOST_SCRIPT) or b""
    if head.startswith(b"#!") and (behind := _NVCC_BEHIND.search(head)):
        real = machine.real(behind[0].decode("utf-8", "replace"))
    return os.path.dirname(os.path.dirname(real))


def package_folders(machine: Machine) -> list[str]:
    """Return package folders of this Python, and of each Python with commands in PATH.

    This tool may have a separate Python.
    """
    environ = machine.environ
    prefixes = [environ.get("VIRTUAL_ENV", ""), environ.get("CONDA_PREFIX", "")]
    prefixes += [
        os.path.dirname(folder.rstrip("/\\")) for folder in listed_folders(machine, "PATH")
    ]
    if "HOME" in environ:
        prefixes.append(os.path.join(environ["HOME"], ".local"))
    folders = list(machine.search_path)
    for prefix in filter(None, prefixes):
        folders += machine.files(prefix, *_PACKAGES)
    return list(dict.fromkeys(folders))


def listed_folders(machine: Machine, variable: str) -> list[str]:
    """Return the folders that a variable lists, without relative ones."""
    text = machine.environ.get(variable, "")
    separators = "[;:]" if variable == "LD_LIBRARY_PATH" else ";" if ";" in text else os.pathsep
    listed = re.split(separators, text)
    return [folder for folder in dict.fromkeys(listed) if os.path.isabs(folder)]
