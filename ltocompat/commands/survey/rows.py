"""The rows of one distribution, as its source and its task tell them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec import structs

from ltocompat.commands.survey.distribution import Distribution, Measures
from ltocompat.commands.survey.tables import DistributionRow, ErrorRow, Row, Surveyed
from ltocompat.model.projection import project
from ltocompat.packages.values import Package

R = TypeVar("R", bound=Row)


class RowMaker:
    """Makes the rows of one distribution.

    Attributes:
        distribution: the distribution.
        facts: version of ltocompat, its tables and rules.
        sha256: the SHA-256 of its file, from the source or computed.
    """

    def __init__(self, distribution: Distribution, facts: str) -> None:
        self.distribution = distribution
        self.facts = facts
        self.sha256 = distribution.sha256

    def make(self, made: type[R], value: object, /, **given: object) -> R:
        """Make a row from a value; ``given`` has the columns without an attribute."""
        return project(made, value, sha256=self.sha256, facts=self.facts, **given)

    def distribution_row(self, measures: Measures, **found: object) -> DistributionRow:
        """Return the row of the distribution, with facts from its file."""
        return self.make(DistributionRow, self.distribution, **structs.asdict(measures), **found)

    def error(self, failed: object, step: str, **given: object) -> ErrorRow:
        """Return the row of a failure."""
        about = self.distribution
        return self.make(
            ErrorRow,
            failed,
            step=step,
            source=about.source,
            filename=about.filename,
            project=about.project,
            **given,
        )

    def without_device_code(self, metadata: Package, size: int, measures: Measures) -> Surveyed:
        """Return the row of a package whose list of members was enough.

        Args:
            metadata: the metadata of the package.
            size: bytes of its file.
            measures: the cost of its task.
        """
        row = self.distribution_row(
            measures,
            status="no device code",
            size=size,
            requires_dist=metadata.requires_dist,
            extras=metadata.extras,
            declared=about_gpus(metadata.classifiers),
        )
        return Surveyed(distributions=(row,))

    def failed(self, step: str, reason: str, measures: Measures, **found: object) -> Surveyed:
        """Return the rows of a package that could not be read.

        Args:
            step: the failed step, a word of the column ``step`` of ``errors``.
            reason: one sentence.
            measures: the cost of its task.
            found: other columns of ``errors``.
        """
        return Surveyed(
            distributions=(self.distribution_row(measures, status="failed"),),
            errors=(self.error(None, step, reason=reason, **found),),
        )


def about_gpus(classifiers: Iterable[str]) -> tuple[str, ...]:
    """Return the classifiers about GPUs and CUDA."""
    return tuple(text for text in classifiers if text.startswith("Environment :: GPU"))
