"""List every device image in files, and who made it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ltocompat.commands.options import (
    InspectOptions,
    OnError,
    answers,
    named,
    public,
    with_failures,
)
from ltocompat.model.errors import UnreadableInput
from ltocompat.model.failure import Failure
from ltocompat.model.image import Module, Producer, Record, Skipped
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.scan import parallel, walk
from ltocompat.scan.describe import ReadOptions
from ltocompat.scan.filters import ImageFilter
from ltocompat.scan.sources import Source, opened_sources

if TYPE_CHECKING:
    from ltocompat.trial.narrow_makers import MakerNarrower


@public(InspectOptions, "*paths", without=("keep_gpus", "platform"))
def inspect(options: InspectOptions, *, on_error: OnError | None = None) -> Iterator[Record]:
    """List the device code in files, in folders and at places in files, and the tools that made it.

    Memory use stays constant, and several large files are read at the same time.

    Args:
        paths: files, folders, places in the form of ``Location`` (``libx.a::m.o``), ``-`` (standard
            input), bytes, or open binary files. Inputs that are bytes are listed as ``input-0``,
            ``input-1``, by their position.
        kernels: also read the names of kernels.
        hashes: also compute the SHA-256 of every decoded image.
        trial_link: try one nvJitLink after another until one accepts the scrambled LTO-IR; this
            shows which release made it.
        install_linkers: install the nvJitLinks that trial links need, if they are missing.
        where: the images to yield; modules without such an image are left out.
        limits: upper limits on sizes, counts and time for reading one file.
        jobs: number of processes that read at the same time; None: one per core.
        progress: called while files are read.
        on_error: called with the error of each path that fails; reading then goes on with the next
            path. None: raise the first error.

    Yields:
        The records of each file, in the order of the paths. The ``Module``, ``Skipped`` and
        ``HostBinary`` values of a file come first, in file order; its ``Artifact`` follows. A part
        that can't be read is a ``Skipped``, never an exception.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: a given path or place does not exist.
        Missing: a trial link needs an nvJitLink that is not installed.
    """
    return answers(run(options), on_error)


def producer(source: Source, *, limits: Limits = DEFAULT_LIMITS) -> tuple[Producer, ...]:
    """Return the compilers, assemblers and linkers that made device code, according to its bytes.

    Args:
        source: the output of NVRTC or nvJitLink, a fatbin, an object or a library. It is given as
            bytes, an open binary file or a path.
        limits: upper limits on sizes, counts and time for reading it.

    Returns:
        The producers of all images, each once, in file order. Empty if there is no image, or if no
        bytes name a producer.

    Raises:
        UnreadableInput: a part of the source can't be read.
    """
    found: dict[Producer, None] = {}
    for record in inspect(source, limits=limits):
        if isinstance(record, Skipped):
            raise UnreadableInput(f"{record.place} can't be read: {record.reason}")
        if isinstance(record, Module):
            found |= dict.fromkeys(maker for image in record.images for maker in image.made_by)
    return tuple(found)


def run(options: InspectOptions) -> Iterator[Record | Failure]:
    """Yield the records of ``inspect``; an unreadable path is a ``Failure`` among them.

    Raises:
        Missing: a trial link needs an nvJitLink that is not installed.
    """
    detail = ReadOptions(options.kernels, options.hashes)
    with ExitStack() as stack:
        sources = stack.enter_context(opened_sources(options.paths, options.limits))
        # One process asks linkers.
        jobs = 1 if options.trial_link or sources.all_in_memory else options.jobs
        settings = replace(options.settings, detail=detail, jobs=jobs, sources=sources)
        narrower = None
        if options.trial_link:
            from ltocompat.commands.trials import Trials

            narrower = stack.enter_context(Trials(options)).narrower()
        where = options.where and replace(options.where)  # a TypeError for another type
        work = functools.partial(_inspect, settings=settings, where=where, narrower=narrower)
        texts = named(sources.texts)
        found = parallel.read(work, texts, parallel.path_of_text, settings, in_slices=True)
        yield from with_failures(found)


def _inspect(
    text: str,
    settings: walk.ScanSettings,
    where: ImageFilter | None,
    narrower: MakerNarrower | None,
) -> Iterator[Record]:
    place = settings.place_of(text)
    found, records = False, walk.take(place, settings)
    if narrower is not None:  # linkers are asked in a second pass over a batch at a time
        batches = walk.take_batches(place, settings)
        asked = (batch.with_modules(narrower.narrow(batch.modules)) for batch in batches)
        records = itertools.chain.from_iterable(batch.records for batch in asked)
    for record in records:
        found = found or isinstance(record, Module | Skipped)
        if isinstance(record, Module) and where is not None:
            images = tuple(image for image in record.images if where.matches(image))
            if images:
                yield replace(record, images=images)
        else:
            yield record
    place.check_found(found=found)
