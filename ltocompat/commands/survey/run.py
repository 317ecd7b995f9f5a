"""Survey many packages: a dataset of what they hold and need, which is resumed and added to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct, field

from ltocompat.commands.survey.dataset import DatasetWriter, Question
from ltocompat.commands.survey.facts_version import facts_version
from ltocompat.commands.survey.sources import of_folder
from ltocompat.commands.survey.tables import Surveyed
from ltocompat.commands.survey.task import TaskOptions, survey_file
from ltocompat.model.failure import Failure, Note
from ltocompat.model.limits import DEFAULT_LIMITS, Limits
from ltocompat.targets import parse


class RunOptions(Struct, frozen=True):
    """What to survey.

    Attributes:
        sources: folders of packages, or packages.
        folder: of the dataset.
        targets: spellings of deploy targets; none: the default ones of each package's platforms.
        append: the dataset may be one of another question.
        limits: what reading one package may cost.
    """

    sources: tuple[str, ...]
    folder: str
    targets: tuple[str, ...] = ()
    append: bool = False
    limits: Limits = DEFAULT_LIMITS


class Tally(Struct):
    """What a run did.

    Attributes:
        folder: of the dataset.
        known: distributions that were there already.
        statuses: how many distributions ended in each status.
        worst: how many have each verdict as their worst.
        size: bytes of the packages that were surveyed.
        fetched: bytes that came over the network for them.
    """

    folder: str
    known: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
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
    """Survey what is not there yet; last, what was done.

    Raises:
        UsageError: a target has no meaning, or the dataset is one of another question.
        Missing: pyarrow is not installed.
    """
    parse(list(options.targets))  # one without a meaning ends the run before it begins
    question = Question(
        facts=facts_version(),
        sources=options.sources,
        targets=options.targets,
        started=datetime.now(UTC),
    )
    task = TaskOptions(options.targets, options.limits)
    tally = Tally(options.folder)
    with DatasetWriter(options.folder, question, append=options.append) as writer:
        known = writer.known()
        sources = set(known.values())
        for source in options.sources:
            for distribution in of_folder(source):
                if distribution.source in sources:
                    tally.known += 1
                    continue
                found = survey_file(distribution, task)
                writer.add(found)
                tally.take(found)
                for error in found.errors:
                    if error.place is None:
                        yield Note(f"{error.source}: {error.reason}")
    yield tally
