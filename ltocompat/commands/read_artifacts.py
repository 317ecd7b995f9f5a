"""Studies of all files at some paths, for the use cases that judge; several paths side by side."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ltocompat.model.artifact_summary import Study
from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.model.image import ImageKind
from ltocompat.model.place import Place
from ltocompat.model.signature import Shape, Worth
from ltocompat.model.target import Target
from ltocompat.rules.engine.kernel_counts import code_images, worth_counting
from ltocompat.scan import parallel, walk
from ltocompat.scan.parallel import OnError
from ltocompat.scan.summarize import Student, Tries
from ltocompat.scan.walk import Settings


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read.

    Attributes:
        settings: of the inventory.
        targets: for whose sake kernels are counted; None: for any.
        tries: asks linkers and drivers.
        narrow: asks linkers for the makers of LTO-IR.
        named: the user named the paths; else, as in folders, a file counts only with device code
            in it, or where it asks for an nvJitLink.
        for_require: kernels of all PTX are counted, so that ``require`` says the same of a study.
        apart: as ``Study.apart`` says.
    """

    settings: Settings
    targets: tuple[Target, ...] | None = None
    tries: Tries | None = None
    narrow: walk.Refine | None = None
    named: bool = True
    for_require: bool = False
    apart: bool = False

    @property
    def alone(self) -> bool:
        """It asks somebody who can't be asked by several processes."""
        return self.tries is not None or self.narrow is not None

    def student(self) -> Student:
        """Reads in this way."""
        return Student(self._interest, self.tries, self.narrow, apart=self.apart)

    def _interest(self, shape: Shape) -> Worth:
        ptx = {n for n, image in enumerate(shape.images) if image.kind is ImageKind.PTX}
        if self.targets is None:
            return Worth(tuple(sorted(ptx)), code_images(shape))
        wanted = worth_counting(shape, self.targets)
        if not self.for_require:
            return wanted
        return wanted._replace(picked=tuple(sorted({*wanted.picked, *ptx})))


def studies(
    paths: Sequence[str | os.PathLike[str]], reading: Reading, on_error: OnError | None = None
) -> Iterator[Study]:
    """The studies, path by path; several large ones are read at the same time.

    Args:
        paths: files, folders, places, or ``-``.
        reading: how to read them.
        on_error: gets what goes wrong with a path, and the others go on; None: it is raised.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: nothing lies at a place.
    """
    texts = [os.fspath(path) for path in paths]
    if not reading.alone and parallel.worth_it(texts):
        # A callback can't follow into another process.
        sent = replace(reading, settings=replace(reading.settings, progress=None))
        work = functools.partial(_worked, reading=sent)
        yield from parallel.read(texts, work, reading.settings.progress, on_error)
        return
    student = reading.student()
    for text in texts:
        try:
            yield from _of_path(student, text, reading)
        except LtocompatError as error:
            if on_error is None:
                raise
            on_error(error)


def _of_path(student: Student, text: str, reading: Reading) -> Iterator[Study]:
    place = Place.parse(text)
    found = False
    for study in student.study(place, reading.settings):
        says = bool(study.groups or study.skipped)
        found = found or says
        asks = any(host.nvjitlink_imports for host in study.hosts)
        if says or asks or (reading.named and study.path == place.path):
            yield study
    if not found and (place.members or place.offset is not None):
        raise UsageError(
            f"nothing lies at {place}; list what does with: ltocompat inspect {place.path}"
        )


def _worked(text: str, reading: Reading) -> list[Study]:
    """The studies of one path, in a process of its own."""
    return list(_of_path(reading.student(), text, reading))
