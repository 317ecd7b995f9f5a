"""Paths -> packages: which kind it is, and what its metadata says. Nothing is unpacked to disk."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ltocompat.files.byteview import ByteView
from ltocompat.files.first_bytes import (
    BZIP2_MAGIC,
    DEB_MAGIC,
    RPM_MAGIC,
    ZIP_MAGIC,
    names_image,
    packing_of,
)
from ltocompat.files.regular import OpenedFile, open_regular
from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.model.limits import DEFAULT_LIMITS, Budget, Limits
from ltocompat.model.location import folders_around
from ltocompat.model.watchdog import watched

if TYPE_CHECKING:
    from ltocompat.model.target import System
    from ltocompat.packages.values import Package

_MOST_FOLDERS = 32  # around a file
_PACKED = (ZIP_MAGIC, BZIP2_MAGIC)  # a zip, and a conda package of the first format


def package_in(view: ByteView, path: str, limits: Limits = DEFAULT_LIMITS) -> Package | None:
    """Return the package in a file; None if the file is not one or can't be read.

    Args:
        view: its bytes.
        path: its name, which has the tags of a wheel.
        limits: upper limits on sizes, counts and time for reading it.
    """
    with suppress(OSError, ValueError, LtocompatError):
        return _read(view, path, Budget(limits))
    return None  # it is reported where its device code is read.


def package_of(
    path: str, limits: Limits = DEFAULT_LIMITS, source: ByteView | None = None
) -> Package | None:
    """The package that a path is, or that it was installed from; None if it is none.

    Args:
        path: a wheel or conda package, a ``*.dist-info`` folder, or a file of an installed package.
        limits: upper limits on sizes, counts and time for reading it.
        source: bytes to read instead of the path; None: read the path.

    Returns:
        The package; its problems name broken parts of its metadata.
    """
    if path == "-":
        return None
    if source is not None:
        return package_in(source, path, limits)
    try:
        budget = Budget(limits)
        if os.path.isdir(path):
            return _of_folder(path, budget)
        found = _read(_view_of(path, limits), path, budget)
        if found is not None:
            return found
    except (OSError, ValueError, LtocompatError):
        # It is reported where its device code is read.
        return None
    found = owner(path, budget)
    # Of what a prefix of conda has, only the name is known: its metadata held where it was solved.
    return None if found is None or found.kind == "conda" else found


def _view_of(path: str, limits: Limits) -> ByteView:
    """The bytes of a file, of a layout or of an image in one, whose readers few paths need."""
    if os.path.isfile(path):
        return ByteView(OpenedFile(open_regular(path)))
    from ltocompat.files.archives.image_path import view_of

    return view_of(path, limits)


def _of_folder(path: str, budget: Budget) -> Package | None:
    from ltocompat.files.archives.image_path import view_of
    from ltocompat.files.archives.layout_folder import is_layout
    from ltocompat.packages.python_packages import read_installed

    if is_layout(path):
        return _read(view_of(path, budget.limits), path, budget)
    return read_installed(path, budget)


def packages_at(path: str, limits: Limits, system: System | None = None) -> tuple[Package, ...]:
    """Return the packages of a wheel, a wheel folder, an environment, a pip report or a lock file.

    Args:
        path: the path of the file or folder.
        limits: upper limits on sizes, counts and time for reading it.
        system: the system for a lock file; None: Linux on x86-64.

    Raises:
        UsageError: a lock file can't be read.
        Missing: the reader for a lock file is not installed.
    """
    if os.path.isdir(path):
        wheels = [os.path.join(path, name) for name in sorted(os.listdir(path))]
        found = [package_of(each, limits) for each in wheels if each.endswith(".whl")]
        if not found:
            from ltocompat.files.archives.folder import sites_of
            from ltocompat.packages.python_packages import installed_in

            described = package_of(path, limits)
            folders = () if described else sites_of(path)
            found = [
                described,
                *(p for each in folders for p in installed_in(each, Budget(limits))),
            ]
        return tuple(filter(None, found))
    package = package_of(path, limits)
    if package is not None:
        return (package,)
    if path.endswith((".json", ".toml", ".lock", ".txt", ".yml", ".yaml")):
        from ltocompat.packages.resolved import resolved_packages

        return resolved_packages(path, limits, system)
    return ()


def owner(path: str, budget: Budget | None = None) -> Package | None:
    """Return the distribution from which a file was installed or unzipped; None for others."""
    folder = os.path.dirname(os.path.abspath(path))
    if not any(map(_may_have_packages, folders_around(folder)[:_MOST_FOLDERS])):
        return None
    # Imported here: most files are of no package.
    from ltocompat.packages.python_packages import distribution_of

    return distribution_of(path, budget or Budget())


def _read(view: ByteView, path: str, budget: Budget) -> Package | None:
    """The package by the first reader that takes it for one; None if none does."""
    for read in _readers(view):
        with watched(budget):
            found = read(view, path, budget)
        if found is not None:
            return found
    return None


def _readers(view: ByteView) -> Iterator[Callable[[ByteView, str, Budget], Package | None]]:
    """The readers of what a file may be by its first bytes, which are loaded for such alone."""
    head = view.peek(0, len(DEB_MAGIC))
    if packing_of(view) is not None or names_image(functools.partial(view.peek, 0)):
        from ltocompat.packages.container_images import read as read_image

        yield read_image
    if head == DEB_MAGIC:
        from ltocompat.packages.debian import read as read_debian

        yield read_debian
    if head.startswith(RPM_MAGIC):
        from ltocompat.packages.rpm import read as read_rpm

        yield read_rpm
    if head.startswith(_PACKED):
        from ltocompat.packages.conda import read as read_conda
        from ltocompat.packages.python_packages import read_wheel

        yield from (read_wheel, read_conda)


def packages_beside(
    paths: Sequence[str | os.PathLike[str]], limits: Limits = DEFAULT_LIMITS
) -> tuple[Package, ...]:
    """The packages of ``--with``.

    Raises:
        UsageError: a path is not a package.
    """
    found: list[Package] = []
    for path in (os.fspath(record) for record in paths):
        packages = packages_at(path, limits)
        if not packages:
            raise UsageError(
                f"{path} is not a package; give a wheel, conda package, folder of wheels, "
                "*.dist-info folder, environment, lock file or pip report"
            )
        found += packages
    return tuple(found)


def _may_have_packages(folder: str) -> bool:
    with suppress(OSError):
        return _has_distributions(folder, os.stat(folder).st_mtime_ns)
    return False


@functools.lru_cache(maxsize=1024)
def _has_distributions(folder: str, _changed: int) -> bool:
    with os.scandir(folder) as entries:
        return any(entry.name.endswith((".dist-info", "conda-meta")) for entry in entries)
