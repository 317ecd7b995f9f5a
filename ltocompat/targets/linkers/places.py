"""Places where copies of nvJitLink and nvlink can lie on a machine.

Layouts: wheels of 12 (``nvidia/nvjitlink/lib``) and 13 (``nvidia/cu13/lib``), on Windows ``bin``
and ``bin/x86_64``; the rest is what cuda-pathfinder looks at (compatibility.md 10).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from msgspec import Struct

from ltocompat.model.errors import Malformed
from ltocompat.model.linker import Tool
from ltocompat.targets.linkers.ldcache import cached_paths
from ltocompat.targets.linkers.machine import Machine

_LIBRARY = ("libnvJitLink.so*", "nvJitLink_*.dll")
_PACKAGES = (
    "lib/python3*/site-packages",
    "lib/python3*/dist-packages",
    "lib/python3/dist-packages",
    "local/lib/python3*/dist-packages",
    "lib64/python3*/site-packages",
    "Lib/site-packages",
)
_TOOLKIT_VARIABLE = re.compile(r"CUDA_HOME|CUDA_PATH(_V[0-9]{1,9}_[0-9]{1,9})?")
_PROGRAM = ("nvlink", "nvlink.exe")
_CACHED = re.compile(r"/libnvJitLink\.so[^/]*$")


class _Layout(Struct, frozen=True):
    """Folders in which a linker lies.

    Attributes:
        names: of its file.
        in_wheels: below a folder of ``nvidia`` in site-packages.
        in_conda: below conda's prefix.
        conda: how it is said to be reached there.
        in_toolkits: below the root of a toolkit.
    """

    names: tuple[str, ...]
    in_wheels: tuple[str, ...] = ("bin",)
    in_conda: tuple[str, ...] = ("bin",)
    conda: str = "CONDA_PREFIX"
    in_toolkits: tuple[str, ...] = ("bin",)


_LAYOUTS = {
    Tool.NVLINK: _Layout(_PROGRAM),
    Tool.NVJITLINK: _Layout(
        _LIBRARY,
        ("lib", "bin", "bin/x86_64"),
        ("lib", "targets/*/lib", "Library/bin", "Library/bin/x64"),
        "conda",
        ("lib64", "lib", "targets/*/lib", "bin", "bin/x64", "bin/x86_64"),
    ),
}


def places(machine: Machine, tool: Tool = Tool.NVJITLINK) -> Iterator[tuple[str, str]]:
    """Paths that look like this linker, and how each is reached; the same file may come again."""
    for root, folders, via in _roots(machine, _LAYOUTS[tool]):
        patterns = [f"{folder}/{name}" for folder in folders for name in _LAYOUTS[tool].names]
        yield from ((path, via) for path in machine.files(root, *patterns))
    library = tool is Tool.NVJITLINK
    if library:
        with suppress(Malformed):  # which the loader's rules tell
            files = filter(_CACHED.search, cached_paths(machine))
            yield from ((path, "ld.so cache") for path in files)
    # Windows looks for libraries in PATH, where Linux has none.
    listing = (
        {"LD_LIBRARY_PATH": _LIBRARY[:1], "PATH": _LIBRARY[1:]} if library else {"PATH": _PROGRAM}
    )
    for variable, names in listing.items():
        for folder in listed_folders(machine, variable):
            yield from ((path, variable) for path in machine.files(folder, *names))


def _roots(machine: Machine, layout: _Layout) -> Iterator[tuple[str, Iterable[str], str]]:
    """Roots of what brings linkers, the folders in each, and how it is reached."""
    in_wheels = [f"nvidia/*/{folder}" for folder in layout.in_wheels]
    for folder in package_folders(machine):
        yield folder, in_wheels, "wheel in site-packages"
    if prefix := machine.environ.get("CONDA_PREFIX"):
        yield prefix, layout.in_conda, layout.conda
    for name in sorted(filter(_TOOLKIT_VARIABLE.fullmatch, machine.environ)):
        if root := machine.environ[name]:
            yield root, layout.in_toolkits, name
    for root in machine.files("/usr/local", "cuda", "cuda-*"):
        yield root, layout.in_toolkits, root


def package_folders(machine: Machine) -> list[str]:
    """Folders of packages of this Python, and of each whose commands are at hand.

    This tool may have a Python of its own.
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
    """The folders that a variable lists; those that depend on where one stands are left out."""
    text = machine.environ.get(variable, "")
    separators = "[;:]" if variable == "LD_LIBRARY_PATH" else ";" if ";" in text else os.pathsep
    listed = re.split(separators, text)
    return [folder for folder in dict.fromkeys(listed) if os.path.isabs(folder)]
