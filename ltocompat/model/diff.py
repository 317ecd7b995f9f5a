"""Changes between two releases of an artifact, as values: the answer of ``diff``."""

from __future__ import annotations

from msgspec import Struct

from ltocompat.model.arch import Release
from ltocompat.model.location import Location
from ltocompat.model.requirement import LinkerFloor
from ltocompat.model.target import DriverVersion

LOST_ARCH = "lost-arch"
LOST_PTX = "lost-ptx"
DRIVER_ROSE = "driver-rose"
NVJITLINK_ROSE = "nvjitlink-rose"

BREAKING = (LOST_ARCH, DRIVER_ROSE, NVJITLINK_ROSE, LOST_PTX)
"""Changes that can be forbidden."""

Said = tuple[str, ...] | int | None
"""Words, a number (bytes or a count), or None where a side has nothing of it."""


class Metadata(Struct, frozen=True):
    """Metadata of a package.

    Attributes:
        name: as its metadata spells it.
        version: its version.
        requires: lines of ``Requires-Dist``, or of conda's ``depends``.
        tags: its platform tags.
    """

    name: str
    version: str
    requires: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


class DiffSummary(Struct, frozen=True):
    """One side of a comparison.

    Attributes:
        path: as the caller gave it.
        saved: it was read from the JSON of an earlier inspection.
        size: bytes of all files; None where nothing tells.
        files: files with device code or CUDA libraries, archives counted as one.
        modules: number of modules.
        images: number of images.
        stored: bytes that the images take, as far as known.
        skipped: places that were not read, so that the rest may say too little.
        complete: every file was read to its end.
        kernels: how many distinct kernels of SASS and PTX were compared; None where they were not.
        nvjitlink: the minimum nvJitLink for its links and imports; None where none is asked for, or
            none is known.
        nvjitlink_beyond: something is linked that no known nvJitLink takes.
        imports: the minimum nvJitLink that has all names imported of it; None where none is.
        driver_sass: the minimum driver for its SASS; None where it has none or no floor is known.
        driver_ptx: the minimum driver for its PTX; likewise.
        ptx_beyond: some PTX is newer than every driver that is known.
        metadata: what the package says of itself; None for what is not a package, or was not read.
    """

    path: str
    saved: bool
    size: int | None
    files: int
    modules: int
    images: int
    stored: int
    skipped: int
    complete: bool
    kernels: int | None
    nvjitlink: LinkerFloor | None
    nvjitlink_beyond: bool
    imports: Release | None
    driver_sass: DriverVersion | None
    driver_ptx: DriverVersion | None
    ptx_beyond: bool
    metadata: Metadata | None


class Change(Struct, frozen=True):
    """One difference between two releases.

    Attributes:
        kind: what moved, e.g. ``arch-lost``; one of ``KINDS``.
        subject: the file in which it did, its version left in; empty for the whole, or the package.
        about: the kind of image (``sass``), the architecture (``sm_90``), or the package required.
        old: what only the old one has (``arch-lost``, ``makers``), or how it was (floors, sizes).
        new: the same of the new one.
        count: how many values differ; more than ``old`` and ``new`` hold where they fill memory.
        breaking: the word of ``BREAKING`` that this is, else None.
        places: an example in the old one, or in the new one, or both; empty where none is known.
    """

    kind: str
    subject: str
    about: str = ""
    old: Said = None
    new: Said = None
    count: int = 1
    breaking: str | None = None
    places: tuple[Location, ...] = ()


KINDS = {
    "file-lost": "file lost",
    "file-gained": "file gained",
    "arch-lost": "architectures lost",
    "arch-gained": "architectures gained",
    "gpu": "GPU served",
    "coverage": "kernels with code",
    "nvjitlink": "minimum nvJitLink",
    "nvjitlink-imports": "minimum nvJitLink for imports",
    "driver": "minimum driver",
    "makers": "made by",
    "ltoir": "LTO-IR version",
    "isa": "version needed",
    "compression": "compression",
    "imports": "imported names of nvJitLink",
    "libraries": "CUDA libraries",
    "size": "size",
    "stored": "bytes of images",
    "kernels-lost": "kernels lost",
    "kernels-gained": "kernels gained",
    "version": "package version",
    "name": "package name",
    "tags": "platform tags",
    "requires": "requirement",
}
"""The kinds of changes, in the order in which they are said, each in words."""


class Diff(Struct, frozen=True):
    """All differences between two artifacts.

    Attributes:
        old: the old one.
        new: the new one.
        changes: in the order of ``KINDS``.
        unknown: sentences about what could not be compared.
        forbidden: words of ``BREAKING`` that must not happen.
    """

    old: DiffSummary
    new: DiffSummary
    changes: tuple[Change, ...]
    unknown: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[Change, ...]:
        """The changes that are forbidden."""
        return tuple(change for change in self.changes if change.breaking in self.forbidden)
