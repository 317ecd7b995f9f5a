"""Results laid out in matrices, as values: the answer of ``matrix``."""

from __future__ import annotations

from msgspec import Struct

from ltocompat.model.verdict import Result

ARTIFACT = "artifact"


class Matrix(Struct, frozen=True):
    """A table of verdicts: one artifact with many versions, or artifacts with several targets.

    Attributes:
        path: the artifact; ``3 artifacts`` if each row is an artifact.
        what: the kind of rows: ``nvJitLink`` (links), ``driver`` (loads) or ``ARTIFACT``.
        rows: names of the rows, which are either versions, oldest first (``12.0``, ``525``), or
            artifacts, worst first.
        columns: names of the columns: architectures (``sm_75``), or deploy targets if each row is
            an artifact.
        tried: True if trial links were made.
        cells: a result for each row and column; for a deploy target, the worst result of its GPUs.
    """

    path: str
    what: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    tried: bool
    cells: tuple[tuple[Result, ...], ...]

    def __repr__(self) -> str:
        size = f"{len(self.rows)} rows, {len(self.columns)} columns"
        return f"Matrix({self.path!r}, {self.what!r}, {size})"
