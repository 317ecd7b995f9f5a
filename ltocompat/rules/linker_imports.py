"""The nvJitLink functions that a host file imports, and what a loader says where one is missing.

A library M.m exports every function as ``__nvJitLinkX_M_0`` .. ``__nvJitLinkX_M_m`` of its own
major, and from 12.3 on without a suffix, too (``readelf --dyn-syms`` of 16 wheels, 12.0 to 13.5).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ltocompat.model.arch import Release
from ltocompat.model.image import HostBinary
from ltocompat.model.library_name import NVJITLINK, library_major
from ltocompat.rules import floors

if TYPE_CHECKING:
    from ltocompat.targets.machine.loaded import Library, Resolved

_NAME = re.compile(r"(?:__)?nvJitLink([A-Za-z]+)(?:_(\d{1,9})_(\d{1,9}))?")


def version_of(name: str) -> Release | None:
    """12.4 of ``__nvJitLinkCreate_12_4``; None for a name without a version."""
    match = _NAME.fullmatch(name)
    return Release(int(match[2]), int(match[3])) if match and match[2] else None


def wants_ltoir(name: str) -> bool:
    """Return whether it is one of the functions that give linked LTO-IR."""
    match = _NAME.fullmatch(name)
    return match is not None and match[1] in ("GetLinkedLTOIR", "GetLinkedLTOIRSize")


def is_plain(name: str) -> bool:
    """Return whether it is a function of nvJitLink without a version."""
    match = _NAME.fullmatch(name)
    return match is not None and match[2] is None


def exports(release: Release, name: str) -> bool:
    """Return whether an nvJitLink of this release has a symbol."""
    if wants_ltoir(name) and release < floors.linker("linked-ltoir"):
        return False
    version = version_of(name)
    if version is None:
        return release >= floors.linker("unversioned-symbols")
    return version.major == release.major and version.minor <= release.minor


def lacking(library: Library) -> str | None:
    """Return the first name, in binding order, that the loaded nvJitLink doesn't have."""
    linker = library.nvjitlink
    if linker is None:
        return None
    names = library.host.nvjitlink_imports
    return next((name for name in names if not exports(linker.release, name)), None)


def files_of(host: HostBinary, name: str, *how: str) -> tuple[str, ...]:
    """Return the files of a library that a host file needs in these ways (``needed`` ...)."""
    return tuple(
        library.file
        for library in host.libraries
        if library.name == name and library.file and library.how in how
    )


def majors(host: HostBinary, name: str) -> tuple[int, ...]:
    """Return the majors of a library that a host file contains, else needs, oldest first."""
    if static := [each for each in host.libraries if each.name == name and each.how == "static"]:
        return tuple(sorted({int(each.version.split(".")[0]) for each in static if each.version}))
    return majors_of(files_of(host, name, "needed", "opened"))


def majors_of(files: Iterable[str]) -> tuple[int, ...]:
    """The majors in the names of files, oldest first."""
    return tuple(sorted({major for file in files if (major := library_major(file)) is not None}))


def sonames(host: HostBinary, *how: str) -> tuple[str, ...]:
    """Return the file names of nvJitLink that a host file needs in these ways."""
    return files_of(host, NVJITLINK, *how)


def missing_symbol_text(host: HostBinary, name: str) -> str:
    """Return the message of a linker or loader about a missing symbol."""
    if host.format != "ELF":
        return f"the specified procedure could not be found (error 127): {name}"
    if host.type == "object":
        return f"undefined reference to `{name}'"
    version = version_of(name)
    named = sonames(host, "needed")
    node = named[0] if named else f"{NVJITLINK}.so.{version.major}" if version else ""
    return f"undefined symbol: {name}, version {node}" if node else f"undefined symbol: {name}"


def missing_file_text(host: HostBinary, file: str) -> str:
    """Return the message of a loader about a missing library."""
    if host.format != "ELF":
        return f"the specified module could not be found (error 126): {file}"
    return f"{file}: cannot open shared object file: No such file or directory"


def missing(resolved: Iterable[Resolved]) -> list[Resolved]:
    """Return the needed libraries that the loader doesn't find or can't read, in its order."""
    return [
        library for library in resolved if library.loaded is None and library.needed_by is not None
    ]


def short(path: str) -> str:
    """The file's name, to start a sentence with."""
    return os.path.basename(path) or path
