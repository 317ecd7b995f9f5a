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
    described,
    one_of,
)
from ltocompat.model.records_v1.verdict import Result, Target


class Grid(Record):
    """One artifact by nvJitLinks or by drivers."""

    path: str
    what: Annotated[str, one_of("nvJitLink", "driver")]
    rows: Annotated[tuple[str, ...], described("nvJitLinks or driver branches, oldest first.")]
    columns: Annotated[tuple[str, ...], described("Architectures.")]
    tried: Annotated[bool, described("Trial links were asked.")]
    cells: Annotated[tuple[tuple[Count, ...], ...], described("Indices of results, a row each.")]


class Summary(Record):
    """All results by verdict."""

    artifacts: Annotated[Count, From("artifacts", len)]
    verdicts: dict[str, Positive]
    errors: tuple[Failure, ...]


class Matrix(Document, tag="ltocompat/matrix/v1"):
    """Artifacts against every nvJitLink, every driver branch and every architecture."""

    results: Annotated[tuple[Result, ...], described("As in ltocompat/check/v1.")]
    targets: Annotated[
        tuple[Target, ...],
        described("The generated targets; a driver and an nvJitLink are never in one of them."),
    ]
    grids: tuple[Grid, ...]
    summary: Summary
