"""Debian packages: the control file of a ``.deb``, whose Depends bring libraries of CUDA.

Each dependency on such a library is that on the package of PyPI with the same file:

* Debian's are called by the SONAME, ``libcufft11`` of libcufft.so.11 (Debian Policy 8.1; apt-cache
  of trixie's non-free, 2026-11-26), and so are ``libcudnn9-cuda-12`` and ``libnccl2``.
* NVIDIA's are called by the extra of cuda-toolkit and the release, ``libcublas-12-4`` and
  ``cuda-cudart-12-4``; ``cuda-libraries-12-4`` and others bring all (CUDA Installation Guide for
  Linux, "Meta Packages"). nvidia-cuda-toolkit and nvidia-cuda-dev are Debian's for all.

Sources: deb(5), deb-control(5).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from ltocompat.facts.libraries import LibraryPackage, by_file
from ltocompat.files.byteview import ByteView
from ltocompat.model.generic import grouped
from ltocompat.model.limits import Budget
from ltocompat.packages.members import members_of
from ltocompat.packages.metadata import MOST_BYTES, field_of, headers_of
from ltocompat.packages.values import SHOWN, Dependency, Kind, Package

_CONTROL = tuple(f"control.tar{packing}" for packing in (".xz", ".zst", ".gz", ""))
_PLATFORMS = {"amd64": "linux_x86_64", "arm64": "linux_aarch64", "all": "any"}
_BY_SONAME = re.compile(r"(lib[a-z]+(?:-builtins)?)-?([0-9.]{1,30})(?:-cuda-[0-9]{1,4})?")
_OF_NVIDIA = re.compile(r"(?:lib|cuda-)([a-z]+)-([0-9]{2})-([0-9]{1,2})")
_OF_DEBIAN = ("nvidia-cuda-toolkit", "nvidia-cuda-dev", "cuda", "cuda-toolkit", "cuda-libraries")
_OF_DRIVER = re.compile(r"libcuda1|libnvidia-.*|nvidia-(?:driver|kernel|alternative|smi).*")


def read(view: ByteView, path: str, budget: Budget) -> Package | None:
    """Return the Debian package; None if its control file can't be read."""
    archives = members_of(view, path, _CONTROL, budget)
    inside = (members_of(each, path, ("control",), budget) for each in archives.values())
    control = next((found["control"] for found in inside if found), None)
    if control is None:
        return None
    headers = headers_of(control.peek(0, MOST_BYTES))
    lines = [f"{key}: {field_of(headers, key)}" for key in ("Pre-Depends", "Depends")]
    return Package(
        kind=Kind.DEBIAN,
        path=path,
        name=field_of(headers, "Package"),
        version=field_of(headers, "Version"),
        requires=tuple(each for line in lines for each in _dependencies(line, budget)),
        platforms=(_PLATFORMS.get(field_of(headers, "Architecture"), ""),),
    )


def _dependencies(line: str, budget: Budget) -> Iterator[Dependency]:
    """The libraries that one line brings; of alternatives each, since any may be installed."""
    key, _, rest = line.partition(": ")
    for text in budget.timed(re.split("[,|]", rest)[: budget.limits.dependencies], slow=True):
        name = re.split(r"[\s(:\[<]", text.strip(), maxsplit=1)[0]
        soname = _BY_SONAME.fullmatch(name)
        file = f"{soname[1]}.so.{soname[2]}" if soname else ""
        yield from libraries_of(name, file, f"{key}: {' '.join(text.split())[:SHOWN]}")


def libraries_of(name: str, file: str, line: str) -> Iterator[Dependency]:
    """Yield the libraries that a package of a Linux distribution installs.

    Args:
        name: the name of the package.
        file: the library that the dependency means; empty if it names only a package.
        line: as it is written.
    """
    by_release = _OF_NVIDIA.fullmatch(name)
    if by_release or name in _OF_DEBIAN:
        versions = f"=={by_release[2]}.{by_release[3]}.*" if by_release else ""
        extra = by_release[1] if by_release else "toolkit"
        asks = frozenset({"all" if extra in ("libraries", "runtime", "toolkit") else extra})
        yield Dependency("cuda-toolkit", (versions,), line, asks)
    elif rows := _by_soname().get(file.lower()):
        for row in rows:
            yield Dependency(row.name, (f">={row.major},<{row.major + 1}",), line)
    elif name and not _OF_DRIVER.fullmatch(name):
        yield Dependency(name, ("",), line)


@functools.cache
def _by_soname() -> dict[str, list[LibraryPackage]]:
    """File name in small letters -> the packages with it."""
    return grouped((file.lower(), row) for file, rows in by_file().items() for row in rows)
