"""Results laid out in matrices, as values: the answer of ``matrix``."""

from __future__ import annotations

from msgspec import Struct

from ltocompat.model.verdict import Result


class Matrix(Struct, frozen=True):
    """One artifact against every nvJitLink or every driver, for every architecture.

    Attributes:
        path: the artifact.
        what: what its rows are: ``nvJitLink`` (links) or ``driver`` (loads).
        rows: their names, oldest first: ``12.0`` .. or ``525`` ...
        columns: architectures: ``sm_75`` ...
        cells: a result for each row and column.
        tried: trial links were asked.
    """

    path: str
    what: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Result, ...], ...]
    tried: bool
