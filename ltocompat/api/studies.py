"""Studies of all files at some paths, for the use cases that judge."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ltocompat.errors import UsageError
from ltocompat.inventory import Settings
from ltocompat.model import ImageKind
from ltocompat.place import Place
from ltocompat.studying import Student
from ltocompat.traits import Shape
from ltocompat.verdicts.studies import Study


def studies(
    student: Student,
    paths: Sequence[str | os.PathLike[str]],
    settings: Settings,
    *,
    named: bool = True,
) -> Iterator[Study]:
    """The studies, as the files are read.

    Files that nobody named (``named`` False, or found in a folder) count only with device code in
    them, or where they ask for an nvJitLink.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: nothing lies at a place.
    """
    for path in paths:
        place = Place.parse(os.fspath(path))
        found = False
        for study in student.study(place, settings):
            says = bool(study.groups or study.skipped)
            found = found or says
            asks = any(host.nvjitlink_imports for host in study.hosts)
            if says or asks or (named and study.path == place.path):
                yield study
        if not found and (place.members or place.offset is not None):
            raise UsageError(
                f"nothing lies at {place}; list what does with: ltocompat inspect {place.path}"
            )


def ptx_images(shape: Shape) -> Sequence[int]:
    """The numbers of a shape's PTX images: their kernels count for any GPU that may be named."""
    return [n for n, image in enumerate(shape.images) if image.kind is ImageKind.PTX]
