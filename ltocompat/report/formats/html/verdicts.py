"""The matrix of artifacts and targets in an HTML page, and why each cell says what it says."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.model.generic import grouped
from ltocompat.model.target import ANY_TARGET, Target
from ltocompat.model.verdict import Result, Verdict
from ltocompat.model.words import count, truncate_list
from ltocompat.report.cell_rows import EvaluatedArtifact
from ltocompat.report.cells import Cell, CellNames, cell_of, target_facts
from ltocompat.report.grouped_findings import finding_key
from ltocompat.report.sorted_records import SortedRecords
from ltocompat.report.text import common_folder


class _Alike(Struct, frozen=True):
    """Results of an artifact that say the same.

    Attributes:
        id: of the element that tells why.
        result: the first of these results.
        cells: where they stand.
    """

    id: str
    result: Result
    cells: tuple[Cell, ...]


class _Row(Struct, frozen=True):
    """An artifact.

    Attributes:
        path: of it.
        routes: a line for each.
        groups: its results, those that say the same together.
        names: of its cells.
    """

    path: str
    routes: tuple[str, ...]
    groups: tuple[_Alike, ...]
    names: CellNames

    @property
    def worst(self) -> Verdict:
        """The worst of its verdicts."""
        return max(alike.result.verdict for alike in self.groups)

    def alike(self, column: Cell, route: str) -> _Alike | None:
        """The results that include a cell's result; None if it was not checked."""
        cell = replace(column, route=route)
        return next((alike for alike in self.groups if cell in alike.cells), None)

    def where(self, alike: _Alike) -> str:
        """The cells of results in words."""
        return self.names.words(alike.cells) or alike.result.target.name


def matrix(answer: SortedRecords, names: Mapping[str, str]) -> dict[str, object]:
    """Return the rows and columns of the matrix, by their names in the template."""
    every = [cell_of(result) for result in answer.results]
    columns = list(dict.fromkeys(replace(cell, route="") for cell in every))
    order = [ANY_TARGET.name, *names]
    columns.sort(key=lambda cell: order.index(cell.target) if cell.target in order else -1)
    numbers = itertools.count(1)
    return {
        "artifacts": [_row(one, names, numbers) for one in answer.artifacts.values()],
        "columns": columns,
        "folder": common_folder(answer.artifacts),
        "targets": Counter(column.target for column in columns),
        "routed": any(cell.route for cell in every),
        "used": {result.verdict for result in answer.results},
    }


def _row(artifact: EvaluatedArtifact, names: Mapping[str, str], numbers: Iterator[int]) -> _Row:
    alike = grouped(
        ((one.verdict, one.not_judged, one.why, *map(finding_key, one.findings)), one)
        for one in artifact.results
    ).values()
    groups = [
        _Alike(f"why-{next(numbers)}", results[0], tuple(map(cell_of, results)))
        for results in alike
    ]
    cells = [cell for group in groups for cell in group.cells]
    routes = dict.fromkeys(cell.route for cell in artifact.cells)
    return _Row(artifact.path, tuple(routes), tuple(groups), CellNames(cells, names))


def described_target(target: Target) -> str:
    """Describe a target: its values with their sources, and its nodes."""
    facts = ", ".join(target_facts(target))
    if not target.nodes:
        return facts
    return f"{count(len(target.nodes), 'node')} ({truncate_list(target.nodes, 8)}): {facts}"
