"""Studies of all files at some paths, for the use cases that judge; several paths side by side."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.model.image import ImageKind
from ltocompat.model.place import Place
from ltocompat.model.signature import KernelsToCount, ModuleSignature
from ltocompat.model.target import Target
from ltocompat.rules.engine.kernel_counts import code_images, kernels_to_count
from ltocompat.scan import parallel, walk
from ltocompat.scan.parallel import OnError
from ltocompat.scan.summarize import Summarizer, Tries
from ltocompat.scan.walk import ScanSettings


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """How to read.

    Attributes:
        settings: of the inventory.
        targets: for whose sake kernels are counted; None: for any.
        tries: asks linkers and drivers.
        narrow: asks linkers for the makers of LTO-IR.
        named: the user named the paths; else, as in folders, a file counts only with device code
            in it, or where it asks for an nvJitLink.
        for_require: kernels of all PTX are counted, so that ``require`` says the same of a summary.
        apart: as ``ArtifactSummary.apart`` says.
    """

    settings: ScanSettings
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

    def student(self) -> Summarizer:
        """Reads in this way."""
        return Summarizer(self._interest, self.tries, self.narrow, apart=self.apart)

    def _interest(self, signature: ModuleSignature) -> KernelsToCount:
        ptx = {n for n, image in enumerate(signature.images) if image.kind is ImageKind.PTX}
        if self.targets is None:
            return KernelsToCount(tuple(sorted(ptx)), code_images(signature))
        wanted = kernels_to_count(signature, self.targets)
        if not self.for_require:
            return wanted
        return wanted._replace(picked=tuple(sorted({*wanted.picked, *ptx})))


def summaries(
    paths: Sequence[str | os.PathLike[str]], reading: ScanOptions, on_error: OnError | None = None
) -> Iterator[ArtifactSummary]:
    """The summaries, path by path; several large ones are read at the same time.

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


def _of_path(student: Summarizer, text: str, reading: ScanOptions) -> Iterator[ArtifactSummary]:
    place = Place.parse(text)
    found = False
    for summary in student.summary(place, reading.settings):
        says = bool(summary.groups or summary.skipped)
        found = found or says
        asks = any(host.nvjitlink_imports for host in summary.hosts)
        if says or asks or (reading.named and summary.path == place.path):
            yield summary
    if not found and (place.members or place.offset is not None):
        raise UsageError(
            f"nothing lies at {place}; list what does with: ltocompat inspect {place.path}"
        )


def _worked(text: str, reading: ScanOptions) -> list[ArtifactSummary]:
    """The summaries of one path, in a process of its own."""
    return list(_of_path(reading.student(), text, reading))
