"""Grid: a cell of `matrix` is what `check` says on the target of its row and GPU of its column."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples import FOLDER

import ltocompat
from ltocompat.model.verdict import Route

FILES = sorted(
    path
    for name in ("cubin", "fatbin", "fatbin-ltoir", "ltoir", "objects", "ptx")
    for path in (FOLDER / name).iterdir()
    if path.suffix in (".cubin", ".fatbin", ".ltoir", ".o", ".so", ".ptx")
)
ROUTES = {"nvJitLink": Route.LINK, "driver": Route.LOAD}
KEYS = {"nvJitLink": "nvjitlink", "driver": "driver"}


def holds(path: Path, cells: int) -> None:
    for grid in ltocompat.matrix(path):
        places = [(row, column) for row in range(len(grid.rows)) for column in range(23)]
        step = len(places) // cells
        for row, column in places[len(path.name) % step :: step]:
            cell, gpu = grid.cells[row][column], grid.columns[column]
            version = ",".join(map(str, vars_of(cell.target, grid.what)))
            target = f"{KEYS[grid.what]}={version},gpu={gpu}"
            lines = {found.route: found for found in ltocompat.check(path, [target])}
            same = lines.get(ROUTES[grid.what]) or lines[None]
            assert (cell.verdict, cell.coverage) == (same.verdict, same.coverage), target
            assert {f.rule for f in cell.findings} == {f.rule for f in same.findings}, target


def vars_of(target: ltocompat.Target, what: str) -> tuple[object, ...]:
    known = target.nvjitlink if what == "nvJitLink" else target.driver
    assert known is not None
    return known.values


@pytest.mark.parametrize("path", FILES[::9], ids=lambda path: path.name)
def test_a_cell_is_check_on_that_target(path: Path) -> None:
    holds(path, 4)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_cells_of_every_sample_are_checks(path: Path) -> None:
    holds(path, 40)
