"""Summaries of all files at some paths, for the use cases that judge; several paths side by side.

Every file is read in two passes, a batch of modules at a time, while the batch's bytes are at hand:
headers first; then, of the modules whose kernels decide a verdict, the kernels. Between the two the
rules say whose kernels these are, and linkers and drivers are asked where trials are wanted.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.commands.options import StrPath, SummaryOptions, named, with_failures
from ltocompat.facts.drivers import is_driver_folder
from ltocompat.files.archives import container_of
from ltocompat.files.byteview import ByteView
from ltocompat.files.first_bytes import names_image
from ltocompat.files.objects import read_host
from ltocompat.model.arch import version_numbers
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.errors import UnreadableInput
from ltocompat.model.failure import Failure
from ltocompat.model.image import CUDA_SOURCES, Module, Skipped
from ltocompat.model.limits import Budget
from ltocompat.model.location import Location
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.target import Target
from ltocompat.model.trial_answer import Trials
from ltocompat.packages.reading import package_of
from ltocompat.packages.values import Kind, Package
from ltocompat.rules.engine.coverage import unevenly_served
from ltocompat.rules.engine.implied_gpus import gpus_to_judge
from ltocompat.rules.engine.symbols_to_read import kernels_to_count, symbols_to_read
from ltocompat.scan import parallel, walk
from ltocompat.scan.module_reader import ModuleReader, ReadPlan
from ltocompat.scan.sources import OpenSources
from ltocompat.scan.summarize import SummaryBuilder
from ltocompat.scan.walk import Batch, ScanSettings

if TYPE_CHECKING:
    from ltocompat.trial.module_trial import Tries
    from ltocompat.trial.narrow_makers import MakerNarrower


class ScanOptions(Struct, frozen=True):
    """How to read.

    Attributes:
        settings: settings of the reader.
        targets: the targets for which kernels are counted; None: all targets.
        tries: tries the modules of a file with linkers and drivers.
        narrower: finds the producers of LTO-IR with linkers.
        named: True if the user named the paths; else they are the files of an environment, whose
            libraries without device code show requirements of their packages.
        for_require: True if kernels are counted as for every target, so that a package's
            requirements don't depend on the targets.
        apart: see ``ArtifactSummary.apart``.
        single_link: True if all files are linked with each other, so that each shows the symbols
            that it defines.
    """

    settings: ScanSettings
    targets: tuple[Target, ...] | None = None
    tries: Tries | None = None
    narrower: MakerNarrower | None = None
    named: bool = True
    for_require: bool = False
    apart: bool = False
    single_link: bool = False

    @property
    def asks_tools(self) -> bool:
        """Return whether a linker or driver is tried, which several processes can't do."""
        return self.tries is not None or self.narrower is not None


def summaries_of(options: SummaryOptions, sources: OpenSources, **how: object) -> Summaries:
    """Yield the summaries for a command's options; ``how``: fields of ``ScanOptions``."""
    jobs = 1 if sources.all_in_memory else None
    settings = replace(options.settings, jobs=jobs, sources=sources)
    return summaries(sources.texts, replace(ScanOptions(settings), **how))


Summaries = Iterator[ArtifactSummary | Failure]


def summaries(paths: Sequence[StrPath], reading: ScanOptions) -> Summaries:
    """Yield the summaries, file by file; several large files are read at the same time.

    Args:
        paths: files, folders, places, or ``-``.
        reading: how to read them.

    Yields:
        The summaries of the files at each path; for a folder, last, a summary of the places that
        could not be read. A ``Failure`` if a path can't be opened, or there is nothing at a place.

    Raises:
        UsageError: no path is named.
    """
    may_be_none = not reading.named or reading.settings.allow_empty
    texts = [os.fspath(path) for path in paths] if may_be_none else named(paths)
    if reading.asks_tools:
        reading = replace(reading, settings=replace(reading.settings, jobs=1))
    reader = ArtifactReader(reading)
    items = reader.items(texts)
    return chain.from_iterable(parallel.read(reader.read, items, path_of_item, reading.settings))


class _File(Struct, frozen=True):
    """A file to read, and whether it is the very one that was named."""

    place: Location
    named: bool


def path_of_item(item: _File | ArtifactSummary | Failure) -> str | None:
    """The file that is read for it, if there is one."""
    return item.place.path if isinstance(item, _File) else None


class ArtifactReader(Struct):
    """Reads files with one set of options.

    Whether kernels of a signature are needed depends only on the targets, so these answers are kept
    from file to file; nothing else is kept.
    """

    _reading: ScanOptions
    _wanted: dict[ModuleSignature, ReadPlan] = {}

    def items(self, texts: Iterable[str]) -> Iterator[_File | ArtifactSummary | Failure]:
        """Yield the summaries of files at paths, a summary of unreadable places, and failures."""
        return with_failures(map(self._below, texts))

    def _below(self, text: str) -> Iterator[_File | ArtifactSummary]:
        place = self._reading.settings.place_of(text)
        outside = SummaryBuilder(apart=self._reading.apart)
        for found in walk.files(place, self._reading.settings):
            if isinstance(found, Skipped):
                outside.skip(found)
            else:
                yield _File(found, not os.path.isdir(place.path) or found == place)
        if outside.skipped:
            yield outside.summary(place.path)

    def read(self, item: _File | ArtifactSummary | Failure) -> Summaries:
        """Yield the summary of a file, if it has content; then forget the file.

        Yield a ``Failure`` if a named file can't be opened, or there is nothing at the place.
        """
        if not isinstance(item, _File):
            return iter((item,))
        return with_failures((self._summary(item),))

    def _summary(self, item: _File) -> Iterator[ArtifactSummary]:
        file, reading, settings = item.place, self._reading, self._reading.settings
        builder = SummaryBuilder(
            apart=reading.apart, members=file.members, installed=not reading.named
        )
        typed, image = item.named and reading.named, False
        try:
            with settings.opened(file.path, typed=typed) as view:
                image = names_image(functools.partial(view.peek, 0))
                refuse_saved(view, file.path, typed=typed)
                self._take(view, file, builder, typed=typed)
                summary = builder.summary(file.path)
                self.read_kernels(view, summary)
        except UnreadableInput as error:
            if item.named:
                raise
            builder.skip(Skipped(file, str(error)))
            summary = builder.summary(file.path)
        groups = summary.groups
        if any(group.loose or group.signature.shipped_major for group in groups) or image:
            source = settings.sources.get(file.path)
            add_metadata(summary, package_of(file.path, settings.limits, source))
        if typed or has_something_to_judge(summary) or (summary.hosts and not reading.named):
            yield summary
        file.check_found(found=bool(summary.groups or summary.skipped))

    def _take(
        self, view: ByteView, file: Location, summary: SummaryBuilder, *, typed: bool
    ) -> None:
        """Add the records of one file whose bytes are at hand."""
        reading = self._reading
        if reading.asks_tools:
            self.fold(walk.batches_of_view(view, file, reading.settings), summary)
        else:
            describer = ModuleReader(self._wanted_of, reading.settings.detail)
            for record in walk.records_of_view(view, file, reading.settings, describer):
                summary.take(record)
        if reading.single_link and typed and summary.is_empty and not may_be_linked(view):
            summary.skip(Skipped(file, _NO_INPUT, view.size))

    def read_kernels(self, view: ByteView, *summaries: ArtifactSummary) -> None:
        """Read the kernels that show what GPUs lose, if modules serve them unevenly."""
        targets = self._reading.targets
        asked = {gpu for target in targets or () for gpu in gpus_to_judge(target)}
        gpus = None if targets is None else asked
        if wanted := unevenly_served(summaries[0], gpus):
            # Imported here: most files are served evenly.
            from ltocompat.scan.second_pass import give_kernels, kernel_names

            give_kernels(summaries, kernel_names(wanted, self._reading.settings, view))

    def fold(self, batches: Iterable[Batch], summary: SummaryBuilder) -> None:
        """Fold the batches of one file as they come, and try each with linkers and drivers."""
        reading = self._reading
        reader = ModuleReader(self._wanted_of, reading.settings.detail)
        try_modules = None if reading.tries is None else reading.tries()
        for found in batches:
            batch = found
            if reading.narrower is not None:
                batch = batch.with_modules(reading.narrower.narrow(batch.modules))
            trials: Sequence[Trials] = [{}] * len(batch.modules)
            if try_modules is not None:
                trials = try_modules(batch.modules)
            decided = [
                reader.finish(reader.decide(stored, module, outcome))
                for (stored, module), outcome in zip(batch.modules, trials, strict=True)
            ]
            outcomes = iter(trials)
            for record in batch.with_modules(decided).records:
                summary.take(record, next(outcomes) if isinstance(record, Module) else None)

    def _wanted_of(self, signature: ModuleSignature) -> ReadPlan:
        """The parts of a module to read, as the rules say."""
        wanted = self._wanted.get(signature)
        if wanted is None:
            reading = self._reading
            wanted = self._wanted[signature] = (
                kernels_to_count(signature, None if reading.for_require else reading.targets),
                symbols_to_read(signature, reading.targets, single_link=reading.single_link),
            )
        return wanted


def has_something_to_judge(summary: ArtifactSummary) -> bool:
    """Return whether a file has code, unread places or imports of nvJitLink."""
    imports = any(host.nvjitlink_imports for host in summary.hosts)
    return bool(summary.groups or summary.skipped or imports)


def refuse_saved(view: ByteView, path: str, *, typed: bool) -> None:
    """Raise an error for a saved JSON answer of ltocompat, which has no device code.

    Verdicts need more than the answer has: definitions in SASS, metadata and libraries of packages,
    images that a filter left out.

    Raises:
        UnreadableInput: the user named a file that is such an answer.
    """
    if not typed or not view.peek(0, 64).lstrip().startswith(b"{"):
        return
    # Imported here: most files are read themselves.
    from ltocompat.commands.comparison import saved

    if saved.document(view, path) is not None:
        raise UnreadableInput(
            f"{path!r} is a saved inspection, not device code; name the files that were "
            "inspected, or compare the two with: ltocompat diff"
        )


_NO_INPUT = "a linker refuses it: it is neither device code, an object nor an archive"


def may_be_linked(view: ByteView) -> bool:
    """Return whether a linker may accept bytes without device code: an object or an archive."""
    return container_of(view) is not None or read_host(view, Budget()) is not None


_LIBCUDA = re.compile(r"(.*)/libcuda\.so\.([0-9]{3}(?:\.[0-9]{1,4}){1,2})")
# Where NVIDIA's tools look for cuda-compat (libnvidia-container, src/nvc_container.c).
_COMPAT = re.compile(r"/usr/local/cuda[^/]*/compat/?")


def add_metadata(summary: ArtifactSummary, package: Package | None) -> None:
    """Add facts about a file's package to its summary.

    The package may compile its CUDA sources at run time; a library of NVIDIA belongs to one
    toolkit.
    """
    if package is not None:
        from ltocompat.scan.shipped_linker import of_toolkit

        loose = any(group.loose for group in summary.groups)
        summary.has_sources = loose and any(n.endswith(CUDA_SOURCES) for n in package.files)
        summary.groups = of_toolkit(summary.groups, package.name, package.version)
        summary.starts_on = package.starts_on
        summary.searched += package.searched
        summary.platform = "".join(package.platforms) if package.kind == Kind.IMAGE else ""
        if package.kind == Kind.IMAGE:
            _add_libcuda(summary)


def _add_libcuda(summary: ArtifactSummary) -> None:
    """Add which libcuda of an image comes in front of a driver's, and which lies beside it."""
    found = [(_LIBCUDA.fullmatch(host.place.innermost), host.place) for host in summary.hosts]
    named = [(m[1], place, version_numbers(m[2])) for m, place in found if m]
    named.sort(key=lambda each: each[2])
    # Where the tools put the host's libcuda, one of the image is beside it, not in front of it.
    listed = {folder for folder in summary.searched if not is_driver_folder(folder, "system")}
    front = [place for folder, place, _ in named if folder in listed]
    compat = front or [place for folder, place, _ in named if _COMPAT.match(f"{folder}/")]
    own = [place for folder, place, _ in named if is_driver_folder(folder, "system")]
    summary.compat, summary.own_driver = (each[-1] if each else None for each in (compat, own))
    summary.compat_listed = bool(front) or any(map(_COMPAT.fullmatch, listed))
