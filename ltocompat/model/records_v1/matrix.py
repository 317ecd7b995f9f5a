"""`ltocompat/matrix/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model import matrix
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Count,
    Document,
    Positive,
    Record,
    RunSummary,
    one_of,
    published,
)
from ltocompat.model.records_v1.verdict import Result, Target


@published(matrix.Matrix)
class Grid(Record):
    """One table: an artifact with many versions, or artifacts with several deploy targets.

    Attributes:
        path: The artifact; if each row is an artifact, the number of artifacts: "3 artifacts".
        rows: Versions of nvJitLink or driver branches, the oldest first; or artifacts, the worst
            verdict first.
        columns: Architectures, or deploy targets.
        tried: True if trial links were made.
        cells: Indices into results, one list per row.
    """

    what: Annotated[str, one_of("nvJitLink", "driver", "artifact")]
    cells: tuple[tuple[Count, ...], ...]


class Summary(RunSummary):
    """The number of results for each verdict."""

    artifacts: Annotated[Count, From("artifacts", len)]
    verdicts: dict[str, Positive]


class Matrix(Document, tag="ltocompat/matrix/v1"):
    """Tables of verdicts for each nvJitLink and driver branch, or for the given deploy targets.

    Attributes:
        results: The results, as in ltocompat/check/v1.
        targets: The given deploy targets. If no target was given, there is one generated target for
            each driver branch, and one for each nvJitLink.
    """

    results: tuple[Result, ...]
    targets: tuple[Target, ...]
    grids: tuple[Grid, ...]
    summary: Summary
