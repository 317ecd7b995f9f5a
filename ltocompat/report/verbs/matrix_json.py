"""The answer of ``matrix`` as ``ltocompat/matrix/v1``, written as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.model.matrix import Matrix
from ltocompat.model.records_v1 import matrix as v1
from ltocompat.model.target import Target
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import Rows, failure_values
from ltocompat.report.verbs.check_json import Tally, result_value, target_value


def document(records: Iterable[Matrix | Failure], _: Options) -> Iterator[str]:
    """The pieces of the JSON document: results as they come, then what lays them out."""
    rows = Rows(v1.Matrix, "results")
    tally = Tally()
    targets: dict[Target, None] = {}
    grids: list[v1.Grid] = []
    number = 0
    for record in records:
        if isinstance(record, Failure):
            rows.failures.append(record)
            continue
        grids.append(_grid(record, number))
        for result in (each_result for row in record.cells for each_result in row):
            tally.add(result)
            targets.setdefault(result.target)
            yield from rows.row(result_value(result))
            number += 1
    summary = v1.Summary(len(tally.artifacts), tally.verdicts, failure_values(rows.failures))
    values = tuple(target_value(target) for target in targets)
    yield from rows.end(v1.Matrix((), values, tuple(grids), summary))


def _grid(matrix: Matrix, first: int) -> v1.Grid:
    wide = len(matrix.columns)
    return v1.Grid(
        path=matrix.path,
        what=matrix.what,
        rows=tuple(matrix.rows),
        columns=tuple(matrix.columns),
        tried=matrix.tried,
        cells=tuple(
            tuple(range(first + row * wide, first + (row + 1) * wide))
            for row in range(len(matrix.rows))
        ),
    )
