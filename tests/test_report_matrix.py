"""The answer of ``matrix``: tables, JSON and the picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET  # our own picture is read, which no one else wrote

from report_values import HOSTILE, valid_json, written
from verdict_values import EDGE, PROD, matrix, result

from ltocompat.model.matrix import ARTIFACT, Matrix
from ltocompat.model.target import ANY_TARGET
from ltocompat.model.verdict import Verdict
from ltocompat.report import Options
from ltocompat.report.formats.svg import picture
from ltocompat.report.verbs.matrix import REPORT

LINKS = matrix("fffffff fffffff f??u??f fooooof", tried=True)
LOADS = matrix("ojuffff ojuffff ojuff?f", what="driver")
SVG = "{http://www.w3.org/2000/svg}"


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


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314


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
