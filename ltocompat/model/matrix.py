"""Results laid out in matrices, as values: the answer of ``matrix``."""

from __future__ import annotations

from msgspec import Struct

from ltocompat.model.verdict import Result

ARTIFACT = "artifact"


class Matrix(Struct, frozen=True):
    """One artifact against every nvJitLink or driver, for every architecture; or many by targets.

    Attributes:
        path: the artifact; ``3 artifacts`` where the rows are artifacts.
        what: what its rows are: ``nvJitLink`` (links), ``driver`` (loads) or ``ARTIFACT``.
        rows: their names, oldest first: ``12.0`` .. or ``525`` ..; of artifacts the worst first.
        columns: architectures: ``sm_75`` ..; deploy targets where the rows are artifacts.
        tried: trial links were asked.
        cells: a result for each row and column: of a deploy target the worst there.
    """

    path: str
    what: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    tried: bool
    cells: tuple[tuple[Result, ...], ...]
