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
        distribution: what its source says of it.
        facts: version of ltocompat, its tables and rules.
        sha256: of its file, where its source says it or it was found.
    """

    def __init__(self, distribution: Distribution, facts: str) -> None:
        self.distribution = distribution
        self.facts = facts
        self.sha256 = distribution.sha256

    def make(self, made: type[R], value: object, /, **given: object) -> R:
        """Make a row of a value; what that has no attribute for is given."""
        return project(made, value, sha256=self.sha256, facts=self.facts, **given)

    def distribution_row(self, measures: Measures, **found: object) -> DistributionRow:
        """The row of the distribution, with what its file tells."""
        return self.make(DistributionRow, self.distribution, **structs.asdict(measures), **found)

    def error(self, failed: object, step: str, **given: object) -> ErrorRow:
        """The row of something that failed."""
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
        """The row of a package of which the list of members was enough.

        Args:
            metadata: of the package.
            size: bytes of its file.
            measures: what its task cost.
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
        """The rows of a package that could not be read.

        Args:
            step: which step failed, a word of the column ``step`` of ``errors``.
            reason: one sentence.
            measures: what its task cost.
            found: other columns of ``errors``.
        """
        return Surveyed(
            distributions=(self.distribution_row(measures, status="failed"),),
            errors=(self.error(None, step, reason=reason, **found),),
        )


def about_gpus(classifiers: Iterable[str]) -> tuple[str, ...]:
    """The classifiers about GPUs and CUDA."""
    return tuple(text for text in classifiers if text.startswith("Environment :: GPU"))
