"""Grid: a cell of `matrix` is what `check` says on the target of its row and GPU of its column."""

from __future__ import annotations

from pathlib import Path

import pytest
from generated_artifacts import ARTIFACTS
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from samples import FOLDER
from summaries import summaries
from tiers import sampled

import ltocompat
from ltocompat.commands.read_artifacts import ScanOptions
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.image import ImageKind
from ltocompat.model.verdict import Route
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.judge_artifact import ArtifactJudge, results
from ltocompat.rules.engine.symbols_to_read import kernels_to_count
from ltocompat.rules.link_selection import pick_for_linker
from ltocompat.scan.walk import ScanSettings
from ltocompat.targets import parse

FILES = sorted(
    path
    for name in ("cubin", "fatbin", "fatbin-ltoir", "ltoir", "objects", "ptx")
    for path in (FOLDER / name).iterdir()
    if path.suffix in (".cubin", ".fatbin", ".ltoir", ".o", ".so", ".ptx")
)
ROUTES = {"nvJitLink": Route.LINK, "driver": Route.LOAD}
GPUS = ("sm_80", "sm_90", "sm_100", "sm_120")
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


@pytest.mark.parametrize("path", FILES[::18], ids=lambda path: path.name)
def test_a_cell_is_check_on_that_target(path: Path) -> None:
    holds(path, 4)


@pytest.mark.parametrize("linker", ["12.8", "13.5"])
def test_check_counts_the_kernels_of_what_a_linker_takes_as_a_cell_does(linker: str) -> None:
    """A cell is made with all kernels counted; some linkers take SASS only without any."""
    found = 0
    for summary in summaries([str(FOLDER / "objects")], ScanOptions(ScanSettings())):
        for group in summary.groups:
            # While a file is read it is not known yet what waits for a device link.
            signature = replace(group.signature, needs_device_link=False)
            for gpu in ("sm_80", "sm_86", "sm_90", "sm_100"):
                (target,) = parse([f"nvjitlink={linker},gpu={gpu}"])
                counted = kernels_to_count(signature, [target]).picked
                picked = pick_for_linker(signature, target.gpus[0].arch, Release.parse(linker))
                sass = [n for n, i in enumerate(signature.images) if i in picked.images]
                sass = [n for n in sass if signature.images[n].kind is ImageKind.SASS]
                assert {*sass} <= {*counted}
                found += len(sass)
    assert found


@settings(max_examples=80, deadline=None)
@given(ARTIFACTS, st.sampled_from(["12.0", "12.4", "13.0", "13.5"]), st.sampled_from(GPUS))
def test_a_cell_of_a_made_up_artifact_is_its_line(
    summary: ArtifactSummary, linker: str, gpu: str
) -> None:
    """Host files and all: those that ask for an nvJitLink decide about a row."""
    (target,) = parse([f"nvjitlink={linker},gpu={gpu}"])
    lines = {result.route: result for result in results(summary, target)}
    artifact = ArtifactJudge(summary, Engine())
    for route in Route:
        wanted = lines.get(route) or lines.get(None)
        found = list(artifact.results(target, line=route))
        assert found == ([] if wanted is None else [wanted])


@pytest.mark.slow
@pytest.mark.parametrize("path", sampled(FILES, 2), ids=lambda path: path.name)
def test_cells_of_every_sample_are_checks(path: Path) -> None:
    holds(path, 40)
