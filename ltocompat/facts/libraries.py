"""Libraries of CUDA on the package index: which package brings a file, and where pip puts it."""

from __future__ import annotations

import functools
import itertools
import posixpath
import re
from collections import defaultdict
from typing import Annotated

from msgspec import Struct

from ltocompat.facts import rows, table
from ltocompat.model.generic import grouped
from ltocompat.model.library_name import library_name
from ltocompat.model.projection import From


class LibraryPackage(Struct, frozen=True, tag="cuda_libraries.package"):
    """One major version of an NVIDIA package, on some platforms.

    Attributes:
        name: ``nvidia-cublas-cu12``.
        platforms: ``linux-x86_64``, ``linux-aarch64``, ``win-amd64``.
        first: the oldest version that was read, e.g. ``12.0.1.189``.
        last: the newest one.
        files: its libraries, relative to site-packages: ``nvidia/cublas/lib/libcublas.so.12``; in
            both versions.
        requires: its unconditional dependencies, as PEP 508 without versions:
            ``cuda-toolkit[nvrtc]``.
    """

    name: Annotated[str, From("package")]
    platforms: tuple[str, ...]
    first: str
    last: str
    files: tuple[str, ...]
    requires: tuple[str, ...]

    @property
    def major(self) -> int:
        """12 of 12.0.1.189."""
        return int(self.first.partition(".")[0])


@functools.cache
def library_packages() -> dict[str, tuple[LibraryPackage, ...]]:
    """Name -> the rows of a package, oldest major first; rows without files install no library."""
    found = grouped((row.name, row) for row in rows(LibraryPackage))
    return {name: tuple(majors) for name, majors in found.items()}


_SUFFIX = re.compile(r"-cu\d\d$")
# The table is read for these names alone; most libraries need none.
_LIKELY = re.compile(r"(?:lib)?(?:cu|nv|npp|nccl|mathdx|cal)", re.IGNORECASE)


def packages_with(file: str) -> tuple[LibraryPackage, ...]:
    """Return the packages that install a library, by its file name, ``libcublas.so.12``.

    On Windows, case doesn't matter.
    """
    return by_file().get(_as_compared(file), ()) if _LIKELY.match(file) else ()


# Libraries of CUDA before 11, and NVRTC before 11.2: no package was ever published of these.
_UNPUBLISHED = re.compile(
    r"(?:lib)?(?:cudart|cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|npp[a-z]*|nvrtc)"
    r"(?:\.so\.(?:[5-9]|10)(?:\.[0-9.]+)?|64_(?:[5-9][0-9]?|10[0-9]?)(?:_0)?\.dll)"
    r"|libnvrtc\.so\.11\.[01](?:\.[0-9.]+)?|nvrtc64_11[01]_0\.dll"
)


def is_of_unpublished_toolkit(file: str) -> bool:
    """Return whether a library is of a toolkit older than all packages on the package index."""
    return _UNPUBLISHED.fullmatch(file) is not None and not packages_with(file)


def folders_of(package: LibraryPackage, file: str) -> frozenset[str]:
    """Return the folders into which a package puts a library, relative to site-packages."""
    wanted = _as_compared(file)
    return frozenset(
        posixpath.dirname(path)
        for path in package.files
        if _as_compared(posixpath.basename(path)) == wanted
    )


@functools.cache
def without_libraries() -> frozenset[str]:
    """Names of packages that install no CUDA library without one of their extras."""
    return frozenset(row["package"] for row in table("no_libraries")["package"])


@functools.cache
def dispatching_from(file: str) -> int | None:
    """Return the first GPU of a library that selects kernels by GPU itself; None for others.

    ``libcudnn_ops.so.9`` is a part of libcudnn.
    """
    known = {row["library"]: row["first"] for row in table("dispatching")["library"]}
    return known.get((library_name(file) or "").partition("_")[0])


@functools.cache
def conda_libraries() -> dict[str, str]:
    """Name of a conda-forge package -> PyPI's package with the same files, without -cu12."""
    return {row["conda"]: row["pypi"] for row in table("conda_libraries")["package"]}


@functools.cache
def rows_of(name: str) -> tuple[LibraryPackage, ...]:
    """Return the rows of a package on PyPI, or on conda-forge, where it has all CUDA majors."""
    known = library_packages()
    if name in known:
        return known[name]
    same = conda_libraries().get(name)
    return tuple(row for other in known if family(other) == same for row in known[other])


def family(name: str) -> str:
    """Return the name of a package for all CUDA majors: ``nvidia-cublas``."""
    return conda_libraries().get(name) or _SUFFIX.sub("", name)


@functools.cache
def toolkit_packages(major: int, extra: str) -> tuple[str, ...]:
    """Return the packages that an extra of cuda-toolkit installs, in any version of a major."""
    return _by_extra().get((major, extra), ())


@functools.cache
def toolkit_majors() -> tuple[int, ...]:
    """The majors of cuda-toolkit that were published."""
    return tuple(sorted({major for major, _ in _by_extra()}))


@functools.cache
def by_file() -> dict[str, tuple[LibraryPackage, ...]]:
    """File name -> the packages that install it; on Windows in small letters."""
    found: dict[str, dict[LibraryPackage, None]] = defaultdict(dict)
    for row in itertools.chain.from_iterable(library_packages().values()):
        for path in row.files:
            found[_as_compared(posixpath.basename(path))][row] = None
    return {file: tuple(packages) for file, packages in found.items()}


@functools.cache
def _by_extra() -> dict[tuple[int, str], tuple[str, ...]]:
    extras = table("cuda_libraries")["toolkit_extra"]
    return {(row["toolkit"], row["extra"]): tuple(row["packages"]) for row in extras}


def _as_compared(file: str) -> str:
    return file.lower() if file.lower().endswith(".dll") else file
