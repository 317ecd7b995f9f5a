"""The answer of ``matrix``: tables, JSON and the picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET  # our own picture is read, which no one else wrote
from collections import Counter

import pytest
from msgspec.structs import replace
from report_values import HOSTILE, at, valid_json, written
from syrupy.assertion import SnapshotAssertion
from verdict_values import EDGE, PROD, matrix, result

from ltocompat.model.matrix import ARTIFACT, Matrix
from ltocompat.model.target import ANY_TARGET
from ltocompat.model.verdict import Extent, Verdict
from ltocompat.report import Failure, Options
from ltocompat.report.formats.svg import merged, picture
from ltocompat.report.streams import PIPED
from ltocompat.report.verbs.matrix import REPORT

LINKS = matrix("fffffff fffffff f??u??f fooooof", tried=True)
LOADS = matrix("ojuffff ojuffff ojuff?f", what="driver")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("width", [80, PIPED])
def test_equal_neighbours_share_a_row_or_a_column(width: int, snapshot: SnapshotAssertion) -> None:
    def table(width: int | None) -> str:
        return written("table", REPORT, [LINKS, LOADS], Options(width=width))

    assert at(width, table) == snapshot


@pytest.mark.parametrize(
    ("modules", "word"),
    [(1, "fail 1/3,346"), (33, "fail 33/3,346"), (34, "fail"), (3346, "fail"), (0, "fail")],
)
def test_a_cell_that_few_modules_decide_says_how_many(modules: int, word: str) -> None:
    grid = matrix("foo")
    first = replace(grid.cells[0][0], extent=Extent(modules, 3346))
    text = written("table", REPORT, [replace(grid, cells=((first, *grid.cells[0][1:]),))])
    assert [cell.strip() for cell in text.splitlines()[3].split("  ") if cell][1:] == [word, "ok"]


def test_markdown(snapshot: SnapshotAssertion) -> None:
    assert written("markdown", REPORT, [LINKS, LOADS]) == snapshot


def test_columns_that_do_not_fit_make_a_second_table() -> None:
    text = written("table", REPORT, [matrix("ofofofof")], Options(width=40))
    assert all(len(line) <= 40 for line in text.splitlines()[1:-3])
    assert text.count("nvJitLink  ") == 2
    assert text.count("12.0") == 2


def test_json_lays_out_its_results() -> None:
    value = valid_json(written("json", REPORT, [LINKS, LOADS]))
    for grid, drawn in zip(value["grids"], (LINKS, LOADS), strict=True):
        valueses = [[value["results"][index]["verdict"] for index in row] for row in grid["cells"]]
        assert valueses == [[str(cell.verdict) for cell in row] for row in drawn.cells]
        assert (grid["rows"], grid["columns"]) == (list(drawn.rows), list(drawn.columns))
    assert len(value["targets"]) == 7
    assert sum(value["summary"]["verdicts"].values()) == 7 * 7


def test_nothing_to_show_is_said() -> None:
    assert written("table", REPORT, []) == "no device code was found\n"
    assert valid_json(written("json", REPORT, []))["grids"] == []
    failed = written("json", REPORT, [Failure("unreadable", "it is gone")])
    assert valid_json(failed)["error"]["kind"] == "unreadable"


def test_blocks_cover_each_cell_once_and_hold_one_verdict() -> None:
    cells = [[result.verdict for result in row] for row in LINKS.cells]
    seen: Counter[tuple[int, int]] = Counter()
    for block in merged(cells):
        inside = [(row, column) for row in block.rows for column in block.columns]
        assert {cells[row][column] for row, column in inside} == {block.verdict}
        seen.update(inside)
    assert seen == Counter((row, column) for row in range(4) for column in range(7))


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314


def test_a_picture_names_its_artifacts_rows_columns_and_verdicts() -> None:
    words = texts(picture([LINKS, LOADS]))
    assert words.count("lib/libx.so") == 1
    assert {"12.0 \u2013 12.1", "12.2", "525 \u2013 530", "Hopper", "90", "fail"} <= set(words)
    assert sum(text.startswith(tuple(f"{verdict}: " for verdict in Verdict)) for text in words) == 5


def test_a_picture_stands_alone_and_can_be_read_aloud() -> None:
    svg = picture([LINKS, LOADS])
    root = ET.fromstring(svg)  # noqa: S314
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == "Where the device code of lib/libx.so links and loads"
    described = root.findtext(f"{SVG}desc") or ""
    assert (
        "linked by each nvJitLink for each architecture, tried with each linker: 5 ok" in described
    )
    assert "href" not in svg
    assert svg.count("http") == 1  # the name space


def test_a_picture_is_legible_without_colour() -> None:
    """Each verdict has a shape of its own, wherever it stands."""
    root = ET.fromstring(picture([matrix("ojuf?")]))  # noqa: S314
    signatures = [
        path.get("d") for group in root.iter(f"{SVG}g") for path in group.iter(f"{SVG}path")
    ]
    assert len(set(signatures)) == 5


def test_a_picture_stays_in_its_frame() -> None:
    for some in ([matrix("o")], [matrix("ojuf?ojf")], [LINKS, LOADS] * 4):
        root = ET.fromstring(picture(some))  # noqa: S314
        height = float(root.get("height") or 0)
        for text in root.iter(f"{SVG}text"):
            assert 0 <= float(text.get("x") or 0) < 800
            assert 0 < float(text.get("y") or 0) < height


def test_hostile_names_are_text_in_a_picture() -> None:
    svg = picture([matrix("of", path=HOSTILE)])
    assert not set(svg) & set("\x1b\r\u202e\udcff")
    assert any("<b>" in text for text in texts(svg))


def test_a_cell_may_hold_what_is_so_on_any_target() -> None:
    """A problem of a package as a whole, where it is the worst of an artifact."""
    cells = tuple((result(Verdict.FAIL, ANY_TARGET, path=path),) * 2 for path in ("a.whl", "b.whl"))
    names = (PROD.name, EDGE.name)
    grid = Matrix("2 artifacts", ARTIFACT, ("a.whl", "b.whl"), names, tried=False, cells=cells)
    text = written("table", REPORT, [PROD, EDGE, grid], Options(width=80))
    assert "prod: driver 580.95.05" in text
    assert ANY_TARGET.name not in text
