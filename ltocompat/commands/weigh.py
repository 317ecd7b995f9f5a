"""The weight of device code, and what of it could be saved."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from ltocompat.commands.options import OnError, WeighOptions, answers, named, public, with_failures
from ltocompat.model.failure import Failure
from ltocompat.model.generic import grouped
from ltocompat.model.image import ImageLayer
from ltocompat.model.projection import project
from ltocompat.model.weight import (
    ArchWeight,
    ImageTally,
    KernelWeight,
    LibraryWeight,
    Measured,
    MeasuredLibrary,
    Weight,
)
from ltocompat.rewrite.forecast import foretold
from ltocompat.rewrite.kept_images import Kept, gpus_of
from ltocompat.rules.weight_advice import savings
from ltocompat.scan import parallel, walk
from ltocompat.scan.sources import opened_sources
from ltocompat.scan.weigh import Weigher

_MOST_KERNELS = 1000


@public(WeighOptions, "*paths")
def weigh(options: WeighOptions, *, on_error: OnError | None = None) -> Iterator[Weight]:
    """Show the size of the device code in files, folders and packages, and what could be saved.

    Args:
        paths: files, folders, places in the form of ``Location`` (``libx.a::m.o``), ``-`` (standard
            input), bytes, or open binary files.
        kernels: also rank the kernels by the size of their code. This unpacks all images.
        keep_gpus: also say what ``slim`` would save if it kept code only for these GPUs:
            ``h100+l4``.
        limits: upper limits on sizes, counts and time for reading one file.
        jobs: number of processes that read one path each; None: one per core.
        progress: called while files are read.
        on_error: called with the error of each path that fails; reading then goes on with the next
            path. None: raise the first error.

    Yields:
        One ``Weight`` for each path. For a folder or package, it covers all contents, so it also
        finds code that several libraries contain.

    Raises:
        UnreadableInput: a path can't be opened.
        UsageError: a given path or place does not exist, or a GPU is unknown.
    """
    return answers(run(options), on_error)


def run(options: WeighOptions) -> Iterator[Weight | Failure]:
    """Yield the weights; an unreadable path is a ``Failure`` among them."""
    numbers = dict.fromkeys(gpu.arch.number for gpu in gpus_of(options.keep_gpus))
    kept = Kept(tuple(numbers)) if numbers else None
    with opened_sources(options.paths, options.limits) as sources:
        settings = replace(options.settings, jobs=options.jobs, sources=sources)
        texts = named(sources.texts)
        work = functools.partial(_weights_of, settings=settings, kernels=options.kernels, kept=kept)
        yield from with_failures(parallel.read(work, texts, parallel.path_of_text, settings))


def _weights_of(
    text: str, settings: walk.ScanSettings, *, kernels: bool, kept: Kept | None
) -> Iterator[Weight]:
    """The weight of one path, which may be read in a process of its own."""
    place = settings.place_of(text)
    weigher = Weigher(kernels=kernels)
    for batch in walk.take_batches(place, settings):
        weigher.take(batch)
    measured = weigher.measured
    place.check_found(found=bool(measured.libraries or measured.skipped))
    planned = None if kept is None or text in settings.sources else foretold(text, kept, settings)
    yield weight_of(text, measured, planned)


def weight_of(path: str, measured: Measured, slim_saved: int | None = None) -> Weight:
    """Return the measured answer, with the savings of slim if GPUs are kept."""
    advice, saved = savings(measured)
    tallies = [tally for library in measured.libraries.values() for tally in _tallies(library)]
    overhead = sum(library.overhead for library in measured.libraries.values())
    libraries = [
        _library(library, saved.get(library.place, 0))
        for library in measured.libraries.values()
        if library.modules or library.host_debug
    ]
    return Weight(
        path=path,
        size=measured.size,
        files=measured.files,
        archs=_archs(measured),
        overhead=overhead,
        stored=overhead + sum(tally.stored for tally in tallies),
        libraries=tuple(sorted(libraries, key=lambda row: (-row.stored, str(row.place)))),
        savings=advice,
        slim_saved=slim_saved,
        kernels=_kernels(measured),
        kernels_left_out=measured.kernels_left_out + max(len(measured.kernels) - _MOST_KERNELS, 0),
        unsized=sum(tally.unsized for tally in tallies),
        skipped=measured.skipped,
        layers=tuple(_layers(measured.layers, libraries)),
    )


def _layers(
    layers: Sequence[ImageLayer], libraries: Sequence[LibraryWeight]
) -> Iterator[ImageLayer]:
    stored = Counter[str]()
    for library in libraries:
        stored["".join(library.place.members[:1])] += library.stored
    for layer in reversed(layers):
        yield replace(layer, stored=sum(stored[path] for path in layer.files))


def _tallies(library: MeasuredLibrary) -> Iterator[ImageTally]:
    return itertools.chain.from_iterable(library.tallies.values())


def _archs(measured: Measured) -> tuple[ArchWeight, ...]:
    alike = grouped(
        ((image.kind, image.arch), tally)
        for library in measured.libraries.values()
        for shape, tallies in library.tallies.items()
        for image, tally in zip(shape.images, tallies, strict=True)
    )
    rows = [
        ArchWeight(kind, arch, sum(t.images for t in of_arch), sum(t.stored for t in of_arch))
        for (kind, arch), of_arch in alike.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.stored, row.kind, str(row.arch))))


def _library(library: MeasuredLibrary, saved: int) -> LibraryWeight:
    return project(
        LibraryWeight,
        library,
        images=sum(tally.images for tally in _tallies(library)),
        stored=library.overhead + sum(tally.stored for tally in _tallies(library)),
        saved=saved,
    )


def _kernels(measured: Measured) -> tuple[KernelWeight, ...]:
    rows = sorted(measured.kernels.items(), key=lambda item: (-item[1].code, item[0]))
    return tuple(
        KernelWeight(name, demangled(name), tally.code, tally.count)
        for name, tally in rows[:_MOST_KERNELS]
    )


_LONGEST = 20_000  # characters of a mangled name; longer ones stay as they are


def demangled(name: str) -> str | None:
    """Return a kernel's C++ name; None if it is no C++ name, or can't be demangled."""
    mangled = name.startswith("_Z") and len(name) <= _LONGEST
    return (_demangler()(name) or None) if mangled else None


@functools.cache
def _demangler() -> Callable[[str], str]:
    try:
        import pydemumble
    except ImportError:
        return lambda _: ""
    demangle: Callable[[str], str] = pydemumble.demangle
    return demangle
