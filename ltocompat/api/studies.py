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
    student: Student, paths: Sequence[str | os.PathLike[str]], settings: Settings
) -> Iterator[Study]:
    """The studies, as the files are read.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: nothing lies at a place.
    """
    for path in paths:
        place = Place.parse(os.fspath(path))
        found = False
        for study in student.study(place, settings):
            found = found or bool(study.groups or study.skipped)
            # In a folder, files without device code are no part of the question.
            if study.groups or study.skipped or study.path == place.path:
                yield study
        if not found and (place.members or place.offset is not None):
            raise UsageError(
                f"nothing lies at {place}; list what does with: ltocompat inspect {place.path}"
            )


def ptx_images(shape: Shape) -> Sequence[int]:
    """The numbers of a shape's PTX images: their kernels count for any GPU that may be named."""
    return [n for n, image in enumerate(shape.images) if image.kind is ImageKind.PTX]
