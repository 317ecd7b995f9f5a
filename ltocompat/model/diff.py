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

# Changes that can be forbidden.
BREAKING = (LOST_ARCH, DRIVER_ROSE, NVJITLINK_ROSE, LOST_PTX)

# Words, a number (bytes or a count), or None if the release has no such value.
Said = tuple[str, ...] | int | None


class Metadata(Struct, frozen=True):
    """Metadata of a package.

    Attributes:
        name: the name as it is spelled in the metadata.
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
        path: the path as the caller gave it.
        saved: True if the release was read from a saved JSON output of ``inspect``.
        size: total size of all files in bytes; None if unknown.
        files: number of files with device code or CUDA libraries; an archive counts as one file.
        modules: number of modules.
        images: number of images.
        stored: size of the images in bytes, as far as known.
        skipped: number of places that were not read; the other numbers leave them out.
        complete: True if every file was read to its end.
        kernels: number of distinct kernels in SASS and PTX; None if kernels were not compared.
        nvjitlink: the minimum nvJitLink that links the code and exports all imported names. None if
            no nvJitLink is needed, or no minimum is known.
        nvjitlink_beyond: True if some of the code can't be linked by any known nvJitLink.
        imports: the minimum nvJitLink that exports all imported names; None if no name is imported.
        driver_sass: the minimum driver for the SASS; None if there is no SASS or no known minimum.
        driver_ptx: the minimum driver for the PTX; None if there is no PTX or no known minimum.
        ptx_beyond: True if some PTX has a version that no known driver supports.
        metadata: the metadata of the package; None if there is no package, or if no metadata was
            read.
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
        kind: the kind of change: one of ``KINDS``, such as ``arch-lost``.
        subject: the file with its version, or the package; empty for the whole release.
        about: the kind of image (``sass``), the architecture (``sm_90``), or the required package.
        old: for ``arch-lost`` and ``makers``, the values that only the old release has. For minimum
            versions and sizes, this is the value in the old release.
        new: the values that only the new release has, or the value in the new release.
        count: number of values that differ. If there are very many values, ``old`` and ``new``
            don't list all of these values.
        breaking: the word for this change in ``BREAKING``; None if ``BREAKING`` has no word for it.
        places: one example from the old release, one from the new release, or one from each; empty
            if no place is known.
    """

    kind: str
    subject: str
    about: str = ""
    old: Said = None
    new: Said = None
    count: int = 1
    breaking: str | None = None
    places: tuple[Location, ...] = ()


# The kinds of changes in the order of the report, each in words.
KINDS = {
    **{kind: kind.replace("-", " ") for kind in ("file-lost", "file-gained")},
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
    **{kind: kind.replace("-", " ") for kind in ("kernels-lost", "kernels-gained")},
    "version": "package version",
    "name": "package name",
    "tags": "platform tags",
    "requires": "requirement",
}


class Diff(Struct, frozen=True):
    """All differences between two artifacts.

    Attributes:
        old: the old release.
        new: the new release.
        changes: the changes, in the order of ``KINDS``.
        unknown: sentences about what could not be compared.
        forbidden: the kinds of change that are forbidden; each is one of ``BREAKING``.
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
