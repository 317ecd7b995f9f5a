"""The packages of cuda-compat, and the kernel drivers that each can stand on."""

from __future__ import annotations

import functools
from typing import Any

from ltocompat.facts.drivers import cuda_branch
from ltocompat.facts.tables import table
from ltocompat.model.arch import Release

_USES = ("usable", "native", "none")


@functools.cache
def _packages() -> dict[Release, dict[str, Any]]:
    rows = table("compat")["package"]
    return dict(sorted((Release.parse(row["package"]), row) for row in rows))


def compat_use(package: Release, branch: int) -> str | None:
    """What a cuda-compat package is over a kernel driver.

    Args:
        package: the CUDA release of the package, 12.8.
        branch: the branch of the kernel driver, 535.

    Returns:
        ``usable``; ``native``: the same branch, so that the package isn't needed; ``none``: NVIDIA
        provides none for the pair; None where the table has no such package or branch.
    """
    row = _packages().get(package, {})
    return next((use for use in _USES if branch in row.get(use, ())), None)


def compat_packages() -> tuple[Release, ...]:
    """The packages of the table, oldest first."""
    return tuple(_packages())


def compat_branch(package: Release) -> int | None:
    """The driver branch that a package is built from: 580 of cuda-compat-13-0."""
    return cuda_branch(package)


@functools.cache
def compat_bases() -> tuple[int, ...]:
    """The driver branches that the table has as bases, oldest first."""
    rows = _packages().values()
    return tuple(sorted({branch for row in rows for use in _USES for branch in row[use]}))
