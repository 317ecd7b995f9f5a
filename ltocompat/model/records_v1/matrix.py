"""`ltocompat/matrix/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model import matrix
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Count,
    Document,
    Failure,
    Positive,
    Record,
    one_of,
    published,
)
from ltocompat.model.records_v1.verdict import Result, Target


@published(matrix.Matrix)
class Grid(Record):
    """One table: one artifact on nvJitLinks or drivers, or several artifacts on deploy targets.

    Attributes:
        path: The artifact; if the rows are artifacts, their number: "3 artifacts".
        rows: nvJitLinks or driver branches, oldest first; or artifacts, the worst verdict first.
        columns: Architectures, or deploy targets.
        tried: True if trial links were made.
        cells: Indices into results, one list per row.
    """

    what: Annotated[str, one_of("nvJitLink", "driver", "artifact")]
    cells: tuple[tuple[Count, ...], ...]


class Summary(Record):
    """All results by verdict."""

    artifacts: Annotated[Count, From("artifacts", len)]
    verdicts: dict[str, Positive]
    errors: tuple[Failure, ...]


class Matrix(Document, tag="ltocompat/matrix/v1"):
    """Tables of verdicts by nvJitLink, driver branch and architecture, or by deploy target.

    Attributes:
        results: The results, as in ltocompat/check/v1.
        targets: The given deploy targets. If no target was given: one generated target for each
            driver branch and each nvJitLink.
    """

    results: tuple[Result, ...]
    targets: tuple[Target, ...]
    grids: tuple[Grid, ...]
    summary: Summary
