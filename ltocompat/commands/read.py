"""Read artifacts once, and ask their readings as often as you like."""

from __future__ import annotations

import functools
import itertools
import os
import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.commands.advice import advising_trials
from ltocompat.commands.check import Targets, resolve_targets
from ltocompat.commands.matrix import linker_targets, matrices
from ltocompat.commands.options import OnError, answers, as_tuple, with_failures
from ltocompat.commands.package_problems import Packages, on_any_target, result_of
from ltocompat.commands.read_artifacts import (
    ArtifactReader,
    ScanOptions,
    add_metadata,
    has_something_to_judge,
    refuse_saved,
)
from ltocompat.commands.weigh import weight_of
from ltocompat.files.byteview import ByteView, chunks, digest_of
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.distribution import Distribution
from ltocompat.model.errors import UsageError
from ltocompat.model.failure import Progress, reporter
from ltocompat.model.image import Record, Skipped
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.model.location import Location
from ltocompat.model.matrix import Matrix
from ltocompat.model.projection import project
from ltocompat.model.requirement import Required
from ltocompat.model.verdict import Result, Route
from ltocompat.model.weight import Measured, Weight
from ltocompat.packages.reading import owner, package_in
from ltocompat.packages.values import Kind, Package
from ltocompat.packages.wheel_name import single_tags
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.rule import Problem
from ltocompat.scan import parallel, walk
from ltocompat.scan.sources import (
    Source,
    is_address,
    name_of,
    opened_address,
    opened_file,
    source_names,
)
from ltocompat.scan.summarize import SummaryBuilder
from ltocompat.scan.walk import Batch, ScanSettings
from ltocompat.scan.weigh import Weigher


class Reading:
    """A file that was read; it answers questions without reading the file again.

    A ``Reading`` keeps no bytes of the file, and can be pickled. Each method gives the answer of
    the command with the same name, but the findings name no kernels. To find these names, the
    file would have to be read again.

    Attributes:
        path: the path of the file, as the caller gave it or as it was found in a folder.
        size: size in bytes.
        sha256: SHA-256 of the file's bytes; empty if the file can't be opened.
    """

    def __init__(self, kept: _Kept) -> None:
        self.path: str = kept.place.path
        self.size: int = kept.size
        self.sha256: str = kept.sha256
        self._kept = kept

    @property
    def distribution(self) -> Distribution | None:
        """The file itself if it is a package, or the package that contains the file; else None."""
        return self._kept.distribution()

    def __repr__(self) -> str:
        return f"Reading({self.path!r}, sha256={self.sha256!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reading) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        """The file and all that was read of it."""
        return self._kept.place, self.sha256, *self._kept.chunks

    def records(self) -> Iterator[Record]:
        """Yield the records of ``inspect``: modules, host files, skipped places, then the file."""
        for chunk in self._kept.chunks:
            yield from pickle.loads(zlib.decompress(chunk))  # noqa: S301 - our own

    def check(
        self,
        targets: Targets,
        *,
        route: Route | str | None = None,
        beside: Sequence[str | os.PathLike[str]] = (),
        floors: bool = True,
    ) -> Iterator[Result]:
        """Check whether the file works on deploy targets.

        Args:
            targets: one or several targets: ``Target`` objects, or texts that ``--deploy-target``
                accepts.
            route: the route to check for modules with two routes: ``load`` or ``link``. None: both
                are checked.
            beside: packages that are installed together with the file.
            floors: also compare the metadata of a package with the minimum versions that its code
                needs.

        Yields:
            The results by target, then by GPU, then by route. The problems of the package come
            last, if there are any.

        Raises:
            UsageError: a target is invalid, or a path in ``beside`` is not a package.
        """
        way = None if route is None else Route(route)
        for target in resolve_targets(as_tuple(targets)):
            found = answers(target.results(self._kept.summary, way), on_error=None)
            yield from map(advising_trials, found)
        problems = self._kept.problems(self._kept.summary, beside) if floors else ()
        if problems:
            yield advising_trials(result_of(self.path, problems, self._kept.summary.origins))

    def require(self) -> Required:
        """Return the drivers, GPUs and nvJitLinks that the file requires."""
        return self._kept.required

    def matrix(self) -> Iterator[Matrix]:
        """Yield the verdicts on the file for every nvJitLink and every driver branch."""
        return matrices(self._kept.summary, linker_targets(), Engine())

    def weigh(self) -> Weight:
        """Return the size of the file's device code, and the bytes that could be saved."""
        return weight_of(self.path, self._kept.measured)

    def audit(self, *, beside: Sequence[str | os.PathLike[str]] = ()) -> Result:
        """Return the problems that depend on no target, such as metadata that don't match the code.

        Args:
            beside: packages that are installed together with the file.

        Raises:
            UsageError: a path in ``beside`` is not a package.
        """
        kept = self._kept
        result = on_any_target(kept.apart, kept.problems(kept.apart, beside))
        return replace(result, distribution=str(kept.package or ""))


class _Kept(Struct, dict=True):
    """A file that was read, as it is kept.

    Attributes:
        place: what was read: the file, or something in it.
        size: of the file, bytes.
        sha256: of its bytes.
        package: what its metadata says; None for no package.
        chunks: the records, packed.
        summary: what verdicts rest on.
        apart: the same, with the modules of each inner file by themselves.
        measured: what its weight rests on.
        limits: what reading packages beside it may cost.
    """

    place: Location
    package: Package | None
    chunks: Sequence[bytes]
    summary: ArtifactSummary
    apart: ArtifactSummary
    measured: Measured
    limits: Limits
    size: int = 0
    sha256: str = ""

    @functools.cached_property
    def required(self) -> Required:
        """The requirements, which take long to compute."""
        return required(self.summary, package=self.package, limits=self.limits, starts=True)

    def problems(
        self, summary: ArtifactSummary, beside: Sequence[str | os.PathLike[str]]
    ) -> tuple[Problem, ...]:
        """Its problems as a package; none for a place inside a package."""
        packages = Packages([str(self.place)], beside, self.limits)
        known = self.package is not None and summary is self.summary
        ask = (lambda: self.required) if known else None
        return packages.problems(packages.shipped(summary, self.package, ask))

    @property
    def holds_something(self) -> bool:
        """Return whether it gets an answer as one of the files of a folder."""
        package = self.package is not None and self.package.kind is not Kind.INSTALLED
        return has_something_to_judge(self.summary) or package

    def distribution(self) -> Distribution | None:
        """The package as a value."""
        if (package := self.package) is None:
            return None
        return project(
            Distribution,
            package,
            path=self.place.path,
            tags=tuple(each for tag in package.tags for each in single_tags(tag)),
            requires=package.requires_dist,
            size=self.size,
            sha256=self.sha256,
        )


def read(
    *sources: Source,
    limits: Limits = DEFAULT_LIMITS,
    jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    on_error: OnError | None = None,
) -> Iterator[Reading]:
    """Read every file once, so that later questions don't need the file again.

    Args:
        sources: files, folders, places in files (``libx.a::m.o``), ``-`` (standard input), bytes,
            or open binary files. An open file is listed under its ``name``. Inputs that are bytes
            are listed as ``input-0``, ``input-1``, by their position. If ``ltocompat[remote]`` is
            installed, a source may also be an address that fsspec supports (``s3://bucket/x.whl``);
            each is fetched once.
        limits: upper limits on sizes, counts and time for reading one file.
        jobs: number of processes that read at the same time; None: one per core.
        progress: called while files are read.
        on_error: called with the error of each source that fails; reading then goes on with the
            next source. None: raise the first error.

    Yields:
        A ``Reading`` for every file. In folders, files that are no packages and have no device code
        are left out.

    Raises:
        UnreadableInput: a source can't be opened, or can't be read to its end.
        UsageError: a given path or place does not exist, or an argument is not a source.
        Missing: a source is an address, and fsspec is not installed.
    """
    reader = _Reader(ScanSettings(limits=limits, progress=reporter(progress), jobs=jobs))
    if not source_names(sources):
        raise UsageError("no source is named; name a file, a folder or a package")
    named = zip(sources, source_names(sources), strict=True)
    yield from answers(with_failures(itertools.starmap(reader.of_source, named)), on_error)


def read_known_file(file: BinaryIO, sha256: str, *, limits: Limits = DEFAULT_LIMITS) -> Reading:
    """Read an open file like ``read``, only in this process.

    Args:
        file: the file, called by its ``name``.
        sha256: the SHA-256 of its bytes, so that it isn't computed again.
        limits: upper limits on sizes, counts and time for reading it.

    Raises:
        UnreadableInput: it can't be read to its end.
    """
    reader = _Reader(ScanSettings(limits=limits, jobs=1))
    with opened_file(file, limits) as view:
        walk.hold_to_name(view, name_of(file), limits)
        return Reading(reader.of_view(view, Location(name_of(file)), sha256))


class _Reader:
    """Reads sources in one way."""

    def __init__(self, settings: ScanSettings) -> None:
        self._settings = settings
        self._second_pass = ArtifactReader(ScanOptions(settings, apart=True))

    def of_source(self, source: Source, name: str) -> Iterator[Reading]:
        """Yield the readings of a source with this name.

        Raises:
            LtocompatError: as ``read`` says.
        """
        limits = self._settings.limits
        if not isinstance(source, str | os.PathLike):
            opening = opened_file(source, limits)
        elif is_address(name):
            opening = opened_address(name, limits)
        else:
            yield from self._of_place(Location.parse(name))
            return
        with opening as view:
            walk.hold_to_name(view, name, limits)
            yield Reading(self.of_view(view, Location(name)))

    def _of_place(self, place: Location) -> Iterator[Reading]:
        """Keep the files at a place; in a folder those that hold something."""

        def keep(view: ByteView, file: Location) -> Iterator[_Kept]:
            refuse_saved(view, file.path, typed=file == place)
            yield self.of_view(view, file)

        settings = self._settings
        work = functools.partial(walk.of_file, top=place, settings=settings, read=keep)
        files = walk.files(place, settings)
        for found in itertools.chain.from_iterable(
            parallel.read(work, files, walk.path_of_found, settings)
        ):
            kept = self._unread(found) if isinstance(found, Skipped) else found
            if kept.holds_something or kept.place == place:
                yield Reading(kept)

    def of_view(self, view: ByteView, place: Location, sha256: str | None = None) -> _Kept:
        """Return the reading of one file from its bytes.

        Args:
            view: its bytes.
            place: the file, or something in it.
            sha256: the SHA-256 of its bytes; None: compute it.

        Raises:
            UnreadableInput: it can't be read to its end.
            UsageError: there is nothing at the place.
        """
        package = _package(view, place.path, self._settings.limits) if place.is_file else None
        kept = self._fold(walk.batches_of_view(view, place, self._settings), place, package)
        kept.size, kept.sha256 = view.size, sha256 or digest_of(chunks(view, 0, view.size)).hex()
        self._second_pass.read_kernels(view, kept.summary, kept.apart)
        place.check_found(found=kept.holds_something)
        return kept

    def _unread(self, skipped: Skipped) -> _Kept:
        """Keep a file that can't be read."""
        return self._fold([Batch((skipped,))], Location(skipped.place.path), None)

    def _fold(self, batches: Iterable[Batch], place: Location, package: Package | None) -> _Kept:
        """All that the batches of a file are kept as, in one pass over them."""
        summaries = SummaryBuilder(apart=True, members=place.members)
        weigher = Weigher(kernels=False)
        chunks: list[bytes] = []
        self._second_pass.fold(_keeping(batches, chunks, weigher), summaries)
        together, apart = summaries.summary(place.path, apart=False), summaries.summary(place.path)
        for summary in (together, apart):
            add_metadata(summary, package)
        return _Kept(
            place, package, chunks, together, apart, weigher.measured, self._settings.limits
        )


def _keeping(batches: Iterable[Batch], chunks: list[bytes], weigher: Weigher) -> Iterator[Batch]:
    """The batches, whose records are kept and weighed as they pass."""
    for batch in batches:
        # A tenth of what the values take: those of a large library are not all wanted at once.
        chunks.append(zlib.compress(pickle.dumps(batch.records, pickle.HIGHEST_PROTOCOL), 1))
        weigher.take(batch)
        yield batch


def _package(view: ByteView, path: str, limits: Limits) -> Package | None:
    """The package that a file is, or that it was installed from."""
    found = package_in(view, path, limits)
    return owner(path) if found is None and os.path.exists(path) else found
