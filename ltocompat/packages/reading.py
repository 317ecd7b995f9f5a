"""Paths -> packages: which kind it is, and what its metadata says. Nothing is unpacked to disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ltocompat.files.byteview import ByteView, FileSource
from ltocompat.files.regular import open_regular
from ltocompat.model.errors import LtocompatError
from ltocompat.model.limits import DEFAULT_LIMITS, Budget, Limits
from ltocompat.model.watchdog import watched
from ltocompat.packages import conda, python_packages
from ltocompat.packages.values import Package

_READERS: tuple[Callable[[ByteView, str, Budget], Package | None], ...] = (
    python_packages.read_wheel,
    conda.read,
)


def package_in(view: ByteView, path: str, limits: Limits = DEFAULT_LIMITS) -> Package | None:
    """The package that a file is; None where it is none, or can't be read.

    Args:
        view: its bytes.
        path: its name, of which a wheel has its tags.
        limits: what reading it may cost.
    """
    try:
        return _read(view, path, Budget(limits))
    except (OSError, ValueError, LtocompatError):
        # It is reported where its device code is read.
        return None


def package_of(path: str, limits: Limits = DEFAULT_LIMITS) -> Package | None:
    """The package that a path is, or that it was installed from; None where it is none.

    Args:
        path: a wheel or conda package, a ``*.dist-info`` folder, or a file of an installed package.
        limits: what reading it may cost.

    Returns:
        The package; what is broken about its metadata stands in its problems.
    """
    if path == "-":
        return None
    try:
        budget = Budget(limits)
        if os.path.isdir(path):
            return python_packages.read_installed(path, budget)
        with _opened(path) as view:
            found = _read(view, path, budget)
            if found is not None:
                return found
    except (OSError, ValueError, LtocompatError):
        # It is reported where its device code is read.
        return None
    return python_packages.owner(path, budget)


def _read(view: ByteView, path: str, budget: Budget) -> Package | None:
    for read in _READERS:
        with watched(budget):
            found = read(view, path, budget)
        if found is not None:
            return found
    return None


@contextmanager
def _opened(path: str) -> Iterator[ByteView]:
    fd = open_regular(path)
    try:
        yield ByteView(FileSource(fd))
    finally:
        os.close(fd)
