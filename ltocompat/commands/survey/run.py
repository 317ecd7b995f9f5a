"""Survey many packages: a dataset of what they hold and need, which is resumed and added to."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator, Iterator
from datetime import UTC, datetime

from msgspec import Struct, field, structs

from ltocompat.commands.survey.dataset import Dataset, DatasetWriter, Question
from ltocompat.commands.survey.distribution import Distribution
from ltocompat.commands.survey.engine import Engine, engine
from ltocompat.commands.survey.http import Http, without_credentials
from ltocompat.commands.survey.options import MergeOptions, RunOptions, TaskOptions
from ltocompat.commands.survey.sources import Sources, is_index
from ltocompat.commands.survey.tables import Surveyed
from ltocompat.commands.survey.task import facts_version
from ltocompat.files.regular import sha256_of_path
from ltocompat.model.errors import UsageError
from ltocompat.model.failure import Failure, Note
from ltocompat.model.projection import project
from ltocompat.packages.index_settings import IndexSettings
from ltocompat.targets import parse


class Tally(Struct):
    """The tally of a run.

    Attributes:
        folder: the folder of the dataset.
        known: number of distributions that the dataset had already.
        statuses: number of distributions by status.
        unlisted: projects or indexes that could not be listed, without those that also failed
            permanently in the run before.
        worst: number of distributions by their worst verdict.
        size: bytes of the surveyed packages.
        fetched: bytes that were downloaded for them.
    """

    folder: str
    known: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    unlisted: int = 0
    worst: Counter[str] = field(default_factory=Counter)
    size: int = 0
    fetched: int = 0

    def take(self, surveyed: Surveyed) -> None:
        """Count the rows of one distribution."""
        for row in surveyed.distributions:
            self.statuses[row.status] += 1
            self.size += row.size or 0
            self.fetched += row.bytes_fetched
            if row.worst is not None:
                self.worst[row.worst] += 1


def run(options: RunOptions) -> Iterator[Tally | Note | Failure]:
    """Survey all packages that the dataset doesn't have; last, yield the tally.

    Raises:
        UsageError: a target or a source is invalid, or the dataset has a different question.
        UnreadableInput: a source doesn't exist.
        Missing: what surveys need is not installed.
    """
    parse(list(options.targets))  # one without a meaning ends the run before it begins
    settings = IndexSettings.of()
    # What is typed may have a name and a password, too.
    reached = structs.replace(settings, urls=(*settings.urls, *filter(is_index, options.sources)))
    sources = Sources(options, Http(reached), settings.urls)
    sources.check()
    task = project(TaskOptions, options, facts=facts_version(), settings=reached)
    workers = engine(jobs=options.jobs, scheduler=options.scheduler, dashboard=options.dashboard)
    with DatasetWriter(
        options.folder, _question(options), append=options.append, retry_failed=options.retry_failed
    ) as writer:
        yield from _Run(options.folder, sources, task, writer).records(workers)


def merge(options: MergeOptions) -> Iterator[Tally | Note | Failure]:
    """Merge the datasets of a survey's shards into one; last, yield the tally.

    Raises:
        UsageError: their questions differ.
        UnreadableInput: one can't be read.
        Missing: what surveys need is not installed.
    """
    shards = [Dataset(folder) for folder in options.shards]
    asked = {dataset.folder.address: dataset.manifest.runs[-1] for dataset in shards}
    (first, question), *others = asked.items()
    question = structs.replace(question, shard=None)
    for folder, other in others:
        if not question.same_as(structs.replace(other, shard=None)):
            raise UsageError(f"the surveys {folder!r} and {first!r} have different options")
    for dataset in shards:
        if dataset.manifest.finished is None:
            yield Note(f"{dataset.folder.address!r} is not finished; run its survey again")

    def read(_: object, __: object) -> Generator[Surveyed, None, None]:
        for dataset in shards:
            yield from dataset.surveyed()

    nothing = Sources(RunOptions((), options.folder), Http(IndexSettings(())), ())
    with DatasetWriter(options.folder, question) as writer:
        yield from _Run(options.folder, nothing, TaskOptions(question.facts), writer).records(read)


def _question(options: RunOptions) -> Question:
    return project(
        Question,
        options,
        facts=facts_version(),
        sources=tuple(
            without_credentials(source) if is_index(source) else source
            for source in options.sources
        ),
        started=datetime.now(UTC),
    )


class _Run:
    """One run over all that is not in the dataset yet."""

    def __init__(
        self, folder: str, sources: Sources, task: TaskOptions, writer: DatasetWriter
    ) -> None:
        self._sources = sources
        self._task = task
        self._writer = writer
        self._known = writer.known()
        self._met = {known.sha256 or source for source, known in self._known.items()}
        self._tally = Tally(folder)

    def records(self, workers: Engine) -> Iterator[Tally | Note]:
        """Yield notes on unreadable sources, then the tally."""
        with contextlib.closing(workers(self._new(), self._task)) as results:
            for found in results:
                yield from self._take(found)
                yield from self._unlisted()
        yield from self._unlisted()
        yield self._tally

    def _new(self) -> Iterator[Distribution]:
        """The distributions that are not there yet."""
        for distribution in self._sources.distributions():
            if self._is_known(distribution):
                self._tally.known += 1
            else:
                yield distribution

    def _is_known(self, distribution: Distribution) -> bool:
        if distribution.sha256 is not None:
            return distribution.sha256 in self._met
        known = self._known.get(distribution.source)
        if known is None:
            return False
        if distribution.index is not None:  # what it gives no sum for stays as it is
            return True
        if known.size != distribution.size:
            return False
        # A path may have other bytes by now.
        return distribution.remote or known.sha256 in (None, sha256_of_path(distribution.source))

    def _take(self, found: Surveyed) -> Iterator[Note]:
        """Add the rows of a distribution, but of equal files those of the first."""
        same = {row.sha256 or row.source for row in found.distributions}
        if same and same <= self._met:
            self._tally.known += 1
            return
        if not found.passing:
            self._met |= same
        self._writer.add(found)
        self._tally.take(found)
        if any(row.status == "failed" for row in found.distributions):
            yield from (Note(f"{error.source}: {error.reason}") for error in found.errors[:1])

    def _unlisted(self) -> Iterator[Note]:
        while self._sources.unlisted:
            missing = self._sources.unlisted.pop(0)
            self._writer.add(Surveyed(errors=(missing,)))
            if missing.passing or missing.source not in self._writer.unlisted:
                self._tally.unlisted += 1
                yield Note(f"{missing.source}: {missing.reason}")
