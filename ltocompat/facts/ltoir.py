"""The versions in the header of LTO-IR, and the CUDA releases that write and read them."""

from __future__ import annotations

import functools
import re

from msgspec import Struct

from ltocompat.facts import rows, table
from ltocompat.facts.horizon import position
from ltocompat.model.arch import Release, version_numbers
from ltocompat.model.generic import grouped
from ltocompat.model.image import LtoIrVersions

_VERSION = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}")


class LtoirWriter(Struct, frozen=True, tag="ltoir.release"):
    """The header of LTO-IR as a CUDA release writes it.

    Attributes:
        cuda: the release.
        container, nvvm_ir, debug, llvm: the versions, ``1.61``.
    """

    cuda: Release
    container: str
    nvvm_ir: str
    debug: str
    llvm: str


@functools.cache
def writers(field: str) -> dict[tuple[int, ...], tuple[Release, ...]]:
    """Versions in a field of ``LtoirWriter`` -> the releases that write them, oldest first."""
    found = grouped((version_numbers(getattr(row, field)), row.cuda) for row in rows(LtoirWriter))
    return {number: tuple(sorted(releases)) for number, releases in found.items()}


@functools.cache
def releases() -> tuple[Release, ...]:
    """The releases whose LTO-IR is known, oldest first."""
    return tuple(sorted(row.cuda for row in rows(LtoirWriter)))


@functools.cache
def keyless_releases() -> tuple[Release, ...]:
    """The releases that write LTO-IR without a keyword in front of its body, oldest first."""
    return tuple(map(Release.parse, table("ltoir")["keyless"][0]["releases"]))


@functools.lru_cache(maxsize=1024)
def around(versions: LtoIrVersions) -> tuple[tuple[Release, ...], tuple[Release, ...]]:
    """Return the releases next to LTO-IR: not newer ones, then not older ones, oldest first.

    Both are the releases that can have made it, if some can. The version of NVVM IR decides if it
    is readable, since each release has its own; else the version of the container.
    """
    field = "container" if versions.nvvm_ir is None else "nvvm_ir"
    version, known = getattr(versions, field), writers(field)
    if not _VERSION.fullmatch(version):
        return (), ()
    where = position(version_numbers(version), known)
    below, above = (known[at] if at else () for at in (where.below, where.above))
    return below, above


def reader(field: str, version: str) -> Release | None:
    """Return the oldest release whose linkers read LTO-IR with a version in a field of its header.

    Args:
        field: ``container``, ``debug`` or ``llvm``.
        version: as in the header: ``1.61``.

    Returns:
        None if the version is newer than all known releases.
    """
    number = version_numbers(version)
    return min((made[0] for at, made in writers(field).items() if at >= number), default=None)


@functools.cache
def newest_date() -> str:
    """Return the day of the newest row about LTO-IR: ``2026-11-21``."""
    return str(max(row["date"] for row in table("ltoir")["release"]))
