"""Places where copies of nvJitLink and nvlink can lie on a machine.

Layouts: wheels of 12 (``nvidia/nvjitlink/lib``) and 13 (``nvidia/cu13/lib``), on Windows ``bin``
and ``bin/x86_64``; the rest is what cuda-pathfinder looks at (compatibility.md 10).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from ltocompat.targets.linkers.linker import Tool
from ltocompat.targets.linkers.machine import Machine

_IN_PACKAGES = "wheel in site-packages"
_LIBRARY = ("libnvJitLink.so*", "nvJitLink_*.dll")
_IN_WHEELS = tuple(
    f"nvidia/*/{folder}/{name}" for folder in ("lib", "bin", "bin/x86_64") for name in _LIBRARY
)
_PACKAGES = (
    "lib/python3*/site-packages",
    "lib/python3*/dist-packages",
    "lib/python3/dist-packages",
    "local/lib/python3*/dist-packages",
    "lib64/python3*/site-packages",
    "Lib/site-packages",
)
_TOOLKIT_FOLDERS = ("lib64", "lib", "targets/*/lib", "bin", "bin/x64", "bin/x86_64")
_CONDA_FOLDERS = ("lib", "targets/*/lib", "Library/bin", "Library/bin/x64")
_TOOLKIT_VARIABLE = re.compile(r"CUDA_HOME|CUDA_PATH(_V[0-9]{1,9}_[0-9]{1,9})?")
_PROGRAM = ("nvlink", "nvlink.exe")
_CACHE_LINE = re.compile(r"\s*libnvJitLink\.so\S* .*=> (/.*)")


def places(machine: Machine, tool: Tool = Tool.NVJITLINK) -> Iterator[tuple[str, str]]:
    """Paths that look like this linker, and how each is reached; the same file may come again."""
    return _libraries(machine) if tool is Tool.NVJITLINK else _programs(machine)


def _programs(machine: Machine) -> Iterator[tuple[str, str]]:
    """Copies of nvlink, which lie in ``bin`` wherever a toolkit lies."""
    for folder in package_folders(machine):
        patterns = [f"nvidia/*/bin/{name}" for name in _PROGRAM]
        yield from ((path, _IN_PACKAGES) for path in machine.files(folder, *patterns))
    for name in sorted(machine.environ):
        if name == "CONDA_PREFIX" or _TOOLKIT_VARIABLE.fullmatch(name):
            yield from _below(machine, machine.environ[name], ("bin",), name, _PROGRAM)
    for root in machine.files("/usr/local", "cuda", "cuda-*"):
        yield from _below(machine, root, ("bin",), root, _PROGRAM)
    for folder in _folders(machine, "PATH"):
        yield from ((path, "PATH") for path in machine.files(folder, *_PROGRAM))


def _libraries(machine: Machine) -> Iterator[tuple[str, str]]:
    yield from _wheels(machine)
    if "CONDA_PREFIX" in machine.environ:
        yield from _below(machine, machine.environ["CONDA_PREFIX"], _CONDA_FOLDERS, "conda")
    for name in sorted(filter(_TOOLKIT_VARIABLE.fullmatch, machine.environ)):
        yield from _below(machine, machine.environ[name], _TOOLKIT_FOLDERS, name)
    for root in machine.files("/usr/local", "cuda", "cuda-*"):
        yield from _below(machine, root, _TOOLKIT_FOLDERS, root)
    for path in _CACHE_LINE.findall(_loader_cache(machine)):
        yield path, "ld.so cache"
    for name in ("LD_LIBRARY_PATH", "PATH"):
        # Windows looks for libraries in PATH, where Linux has none.
        patterns = _LIBRARY[1:] if name == "PATH" else _LIBRARY[:1]
        for folder in _folders(machine, name):
            yield from ((path, name) for path in machine.files(folder, *patterns))


def _below(
    machine: Machine,
    root: str,
    folders: tuple[str, ...],
    via: str,
    names: tuple[str, ...] = _LIBRARY,
) -> Iterator[tuple[str, str]]:
    patterns = [f"{folder}/{name}" for folder in folders for name in names]
    return ((path, via) for path in machine.files(root, *patterns)) if root else iter(())


def package_folders(machine: Machine) -> list[str]:
    """Folders of packages of this Python, and of each whose commands are at hand.

    This tool may have a Python of its own.
    """
    environ = machine.environ
    prefixes = [environ.get("VIRTUAL_ENV", ""), environ.get("CONDA_PREFIX", "")]
    prefixes += [os.path.dirname(folder.rstrip("/\\")) for folder in _folders(machine, "PATH")]
    if "HOME" in environ:
        prefixes.append(os.path.join(environ["HOME"], ".local"))
    folders = list(machine.search_path)
    for prefix in filter(None, prefixes):
        folders += machine.files(prefix, *_PACKAGES)
    return list(dict.fromkeys(folders))


def _wheels(machine: Machine) -> Iterator[tuple[str, str]]:
    for folder in package_folders(machine):
        for path in machine.files(folder, *_IN_WHEELS):
            yield path, _IN_PACKAGES


def _folders(machine: Machine, variable: str) -> list[str]:
    """The folders that a variable lists; those that depend on where one stands are left out."""
    separator = ";" if ";" in machine.environ.get(variable, "") else os.pathsep
    listed = machine.environ.get(variable, "").split(separator)
    return [folder for folder in dict.fromkeys(listed) if os.path.isabs(folder)]


def _loader_cache(machine: Machine) -> str:
    # Users other than root often lack /sbin in their PATH.
    return machine.run(["ldconfig", "-p"]) or machine.run(["/sbin/ldconfig", "-p"])
