"""`ltocompat/matrix/v1`."""

from __future__ import annotations

from typing import Annotated

from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Count,
    Document,
    Failure,
    Positive,
    Record,
    one_of,
)
from ltocompat.model.records_v1.verdict import Result, Target


class Grid(Record):
    """One artifact by nvJitLinks or by drivers.

    Attributes:
        rows: nvJitLinks or driver branches, oldest first.
        columns: Architectures.
        tried: Trial links were asked.
        cells: Indices of results, a row each.
    """

    path: str
    what: Annotated[str, one_of("nvJitLink", "driver")]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    tried: bool
    cells: tuple[tuple[Count, ...], ...]


class Summary(Record):
    """All results by verdict."""

    artifacts: Annotated[Count, From("artifacts", len)]
    verdicts: dict[str, Positive]
    errors: tuple[Failure, ...]


class Matrix(Document, tag="ltocompat/matrix/v1"):
    """Artifacts against every nvJitLink, every driver branch and every architecture.

    Attributes:
        results: As in ltocompat/check/v1.
        targets: The generated targets; a driver and an nvJitLink are never in one of them.
    """

    results: tuple[Result, ...]
    targets: tuple[Target, ...]
    grids: tuple[Grid, ...]
    summary: Summary
