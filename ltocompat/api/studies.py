"""Studies of all files at some paths, for the use cases that judge; several paths side by side."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ltocompat import inventory
from ltocompat.errors import LtocompatError, UsageError
from ltocompat.inventory import Settings
from ltocompat.limits import MIB
from ltocompat.model import ImageKind
from ltocompat.place import Place
from ltocompat.studying import Student, Try
from ltocompat.target import Target
from ltocompat.traits import Shape
from ltocompat.verdicts.kernels import worth_counting
from ltocompat.verdicts.studies import Study

OnError = Callable[[LtocompatError], None]

# Starting another Python takes as long as reading this much.
_WORTH_A_PROCESS = 16 * MIB


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
    tries: Try | None = None
    narrow: inventory.Refine | None = None
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

    def _interest(self, shape: Shape) -> Sequence[int]:
        ptx = [n for n, image in enumerate(shape.images) if image.kind is ImageKind.PTX]
        if self.targets is None:
            return ptx
        wanted = worth_counting(shape, self.targets)
        return sorted({*wanted, *ptx}) if self.for_require else wanted


def studies(
    paths: Sequence[str | os.PathLike[str]], reading: Reading, on_error: OnError | None = None
) -> Iterator[Study]:
    """The studies, as the files are read; of several large ones, as they are finished.

    Args:
        paths: files, folders, places, or ``-``.
        reading: how to read them.
        on_error: gets what goes wrong with a path, and the others go on; None: it is raised.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: nothing lies at a place.
    """
    texts = [os.fspath(path) for path in paths]
    workers = min(len(os.sched_getaffinity(0)) if _LINUX else os.cpu_count() or 1, len(texts))
    if workers > 1 and _FORKS and not reading.alone and "-" not in texts and _large(texts):
        yield from _side_by_side(texts, reading, workers, on_error)
        return
    student = reading.student()
    for text in texts:
        try:
            yield from _of_path(student, text, reading)
        except LtocompatError as error:
            if on_error is None:
                raise
            on_error(error)


_LINUX = hasattr(os, "sched_getaffinity")
# Elsewhere a new process would run the caller's own program from its beginning.
_FORKS = sys.platform == "linux"


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


def _large(texts: Sequence[str]) -> bool:
    """Whether at least two paths take longer to read than a process to start."""
    sizes = sorted(_size(text) for text in texts)
    return sizes[-2] > _WORTH_A_PROCESS


def _size(text: str) -> int:
    path = Place.parse(text).path
    if os.path.isdir(path):
        return _WORTH_A_PROCESS + 1
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _side_by_side(
    texts: list[str], reading: Reading, workers: int, on_error: OnError | None
) -> Iterator[Study]:
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    progress = reading.settings.progress
    # A callback can't follow into another process.
    sent = replace(reading, settings=replace(reading.settings, progress=None))
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        # The largest first, so that none is left for one core at the end.
        todo = {pool.submit(_worked, text, sent): text for text in sorted(texts, key=_size)[::-1]}
        for number, done in enumerate(as_completed(todo), 1):
            found, error = done.result()
            yield from found
            if error is not None and on_error is None:
                raise error
            if error is not None and on_error is not None:
                on_error(error)
            if progress is not None:
                progress(todo[done], number, len(todo))


def _worked(text: str, reading: Reading) -> tuple[list[Study], LtocompatError | None]:
    """The studies of one path, and the error that ended them."""
    found: list[Study] = []
    try:
        found += _of_path(reading.student(), text, reading)
    except LtocompatError as error:
        return found, error
    return found, None
