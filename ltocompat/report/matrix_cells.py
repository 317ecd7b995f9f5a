"""Neighbours among the cells of a matrix that are alike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ltocompat.model.matrix import ARTIFACT, Matrix
from ltocompat.model.words import count


def subject(matrix: Matrix) -> str:
    """Describe the verdicts in a matrix."""
    if matrix.what == ARTIFACT:
        return f"on {count(len(matrix.columns), 'deploy target')}, the worst first"
    what = "linked by each nvJitLink" if matrix.what == "nvJitLink" else "loaded by each driver"
    return f"{what} for each architecture{', tried with each linker' if matrix.tried else ''}"


def runs(values: Sequence[object]) -> list[range]:
    """Return ranges of indices of equal neighbours."""
    groups = ([*group] for _, group in groupby(range(len(values)), key=values.__getitem__))
    return [range(group[0], group[-1] + 1) for group in groups]


def row_runs(matrix: Matrix) -> list[range]:
    """Return ranges of neighbouring rows with equal verdicts; each artifact has a separate row."""
    if matrix.what == ARTIFACT:
        return [range(n, n + 1) for n in range(len(matrix.rows))]
    return runs([[result.verdict for result in row] for row in matrix.cells])
