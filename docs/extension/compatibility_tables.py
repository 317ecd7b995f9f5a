"""The tables of the compatibility page: ``check`` on every pair, beside what was measured.

A cell is a letter: documented or measured, to work or not, or unknown. The legend under each table
has the rule and the date behind it. Plain HTML and CSS, so that it works without JavaScript.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from html import escape
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

import ltocompat
from ltocompat.facts import rows, table
from ltocompat.facts.drivers import (
    ToolkitDriver,
    branch_cuda,
    cuda_branch,
    driver_branches,
    first_production,
    major_floor,
)
from ltocompat.model.verdict import Result, Verdict

ROOT = Path(__file__).parents[2]
_SAMPLES = ROOT / "sample_artifacts"
_DATA = ROOT / "tests" / "data"
_A100 = "sm_80"  # every driver branch of the tables serves it
_SASS = ("11.8", "12.0", "12.4", "12.9", "13.0", "13.5")  # the cubins among the samples
_ENTRY = """\
.version {isa}
.target sm_80
.address_size 64
.visible .entry kernel()
{{
 nop;
}}
"""
_LETTERS = {
    ("documented", True): "D",
    ("measured", True): "M",
    ("documented", False): "N",
    ("measured", False): "R",
    ("unknown", False): "?",
}
_WORDS = {
    "D": "documented to work",
    "M": "works in tests, but NVIDIA doesn't promise it",
    "N": "documented not to work",
    "R": "refused in tests",
    "?": "unknown",
}


class Basis(NamedTuple):
    """What a cell goes by.

    Attributes:
        letter: D, M, N, R or ?.
        rule: ID of the rule behind it.
        date: when it was measured, or its document read.
        more: what was measured besides.
    """

    letter: str
    rule: str
    date: str
    more: str = ""


class Grid(NamedTuple):
    """A table.

    Attributes:
        name: what it is about.
        corner: what its rows and columns are.
        columns: their headers.
        rows: the header of each and its cells.
    """

    name: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Basis, ...]], ...]


def ltoir() -> Grid:
    """Every release's LTO-IR with every nvJitLink; both sides of each pair were linked."""
    recorded = json.loads((_DATA / "ltoir_links.json").read_text("utf-8"))
    measured, date = recorded["tables"]["ltoir/"], recorded["date"]
    rows = []
    for release, linkers in measured.items():
        path = str(_SAMPLES / "ltoir" / f"nvrtc-{release}-lto_80.ltoir")
        found = _judged(path, [f"nvjitlink={linker},gpu={_A100}" for linker in linkers])
        cells = tuple(
            _basis(result, "LTO-01", date, measured=outcome == "linked")
            for result, outcome in zip(found, linkers.values(), strict=True)
        )
        rows.append((release, cells))
    columns = tuple(next(iter(measured.values())))
    return Grid("LTO-IR and nvJitLink", "LTO-IR of \\ nvJitLink", columns, tuple(rows))


def ptx() -> Grid:
    """PTX of every ISA version with a driver of every branch; one branch was measured."""
    loads = _loads()
    read = {row["isa"]: (row["cuda"], str(row["date"])) for row in table("ptx")["isa"]}
    rows = []
    with TemporaryDirectory() as folder:
        for isa, (cuda, date) in sorted(read.items(), key=lambda item: _numbers(item[1][0])):
            if _numbers(isa) < (7, 0):  # sm_80 begins with PTX 7.0
                continue
            path = Path(folder) / f"{isa}.ptx"
            path.write_text(_ENTRY.format(isa=isa), "ascii")
            measured = loads.get(f"ptx/nvrtc-{cuda}-compute_80.ptx")
            cells = _on_drivers(str(path), "PTX-01", date, measured=measured)
            rows.append((f"{isa} ({cuda})", cells))
    return Grid("PTX and drivers", "PTX (CUDA) \\ driver", _drivers(), tuple(rows))


def sass() -> Grid:
    """SASS for an A100 of several releases with a driver of every branch."""
    loads = _loads()
    dates = {row["major"]: str(row["date"]) for row in table("drivers")["major"]}
    rows = []
    for release in _SASS:
        path = str(_SAMPLES / "cubin" / f"nvrtc-{release}-sm_80.cubin")
        # The GPU that was measured is an H100.
        measured = loads.get(f"cubin/nvrtc-{release}-sm_90.cubin")
        date = dates[int(release.partition(".")[0])]
        rows.append((release, _on_drivers(path, "DRV-01", date, measured=measured)))
    return Grid("SASS and drivers", "SASS of \\ driver", _drivers(), tuple(rows))


def compat() -> Grid:
    """Every cuda-compat package over the driver branches that NVIDIA's guide names."""
    packages = table("compat")["package"]
    uses = ("usable", "native", "none")
    branches = sorted({branch for row in packages for use in uses for branch in row[use]})

    def cell(row: Mapping[str, Any], branch: int) -> Basis:
        date = str(row["date"])
        if branch in row["usable"]:
            return Basis("D", "CMP-01", date)
        if branch in row["native"]:
            return Basis("D", "CMP-03", date, "the package is of this branch, and not needed")
        if branch in row["none"]:
            return Basis("N", "CMP-01", date, "NVIDIA provides none for this branch")
        return Basis("?", "CMP-01", date)

    rows = tuple(
        (row["package"], tuple(cell(row, branch) for branch in branches)) for row in packages
    )
    columns = tuple(f"R{branch}" for branch in branches)
    return Grid("cuda-compat and kernel drivers", "cuda-compat \\ kernel driver", columns, rows)


GRIDS: Mapping[str, Callable[[], Grid]] = {
    "ltoir": ltoir,
    "ptx": ptx,
    "sass": sass,
    "compat": compat,
}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _drivers() -> tuple[str, ...]:
    return tuple(f"R{branch} ({branch_cuda(branch)})" for branch in driver_branches())


def _loads() -> dict[str, bool]:
    """What loaded on the driver that was measured, by sample."""
    modules = json.loads((_DATA / "loads.json").read_text("utf-8"))["modules"]
    return {name: row["outcome"] == "loaded" for name, row in modules.items()}


def _on_drivers(path: str, rule: str, date: str, *, measured: bool | None) -> tuple[Basis, ...]:
    """The cells of a row of drivers; ``measured``: whether it loaded where it was tried."""
    recorded = json.loads((_DATA / "loads.json").read_text("utf-8"))
    tried = int(recorded["driver"].partition(".")[0])
    on = f"on {recorded['gpu']} with {recorded['driver']}"
    found = _judged(path, [f"driver={first_production(b)},gpu={_A100}" for b in driver_branches()])
    cells = []
    for branch, result in zip(driver_branches(), found, strict=True):
        here = measured if branch == tried else None
        cells.append(_basis(result, rule, date, measured=here, on=on, documented=True))
    return tuple(cells)


def _judged(path: str, targets: list[str]) -> list[Result]:
    return list(ltocompat.check([path], targets, cache=False))


def _basis(
    result: Result,
    rule: str,
    date: str,
    *,
    measured: bool | None,
    on: str = "",
    documented: bool = False,
) -> Basis:
    """The cell of a verdict.

    Args:
        result: of the pair.
        rule: the one to name where nothing was found.
        date: when the pair was measured, or the document was read.
        measured: whether it worked when it was tried; None: it was not tried.
        on: where it was tried.
        documented: a refusal stands in a document.
    """
    works = result.verdict < Verdict.UNKNOWN
    if measured is not None and result.verdict is not Verdict.UNKNOWN and works is not measured:
        raise ValueError(f"{result.path}: {result.verdict}, and measured: {measured}")
    named = [finding.rule for finding in result.findings if finding.verdict == result.verdict]
    telling = [name for name in named if name != "TGT-01"]
    if result.verdict is Verdict.UNKNOWN:
        kind = "unknown"
    elif result.verdict is Verdict.UNDOCUMENTED or not (works or documented):
        kind = "measured"
    else:
        kind = "documented"
    more = f"measured too, {on}" if on and measured is not None else ""
    if kind == "documented" and not on:
        more = "measured too"
    return Basis(_LETTERS[kind, works], telling[0] if telling else rule, date, more)


def html(grid: Grid, root: str) -> str:
    """A table and its legend; ``root`` leads to the root of the site."""
    return "\n".join(_html(grid, root))


def _html(grid: Grid, root: str) -> Iterator[str]:
    legend = sorted({cell for _, cells in grid.rows for cell in cells}, key=_order)
    numbers = {basis: number for number, basis in enumerate(legend, 1)}
    yield f'<div class="grid" role="region" aria-label="{escape(grid.name)}" tabindex="0"><table>'
    heads = "".join(f'<th scope="col">{escape(text)}</th>' for text in grid.columns)
    yield f'<thead><tr><th scope="col">{escape(grid.corner)}</th>{heads}</tr></thead><tbody>'
    for name, cells in grid.rows:
        inner = "".join(_cell(cell, numbers[cell]) for cell in cells)
        yield f'<tr><th scope="row">{escape(name)}</th>{inner}</tr>'
    yield '</tbody></table></div><ol class="legend">'
    for basis in legend:
        more = f"; {escape(basis.more)}" if basis.more else ""
        link = f'<a href="{root}rules/{basis.rule.lower()}.html">{basis.rule}</a>'
        yield (
            f'<li><span class="{_CLASSES[basis.letter]}">{basis.letter}</span> '
            f"{_WORDS[basis.letter]}: {link}, {basis.date}{more}</li>"
        )
    yield "</ol>"


_CLASSES = {"D": "works", "M": "measured", "N": "fails", "R": "fails", "?": "unknown"}


def _order(basis: Basis) -> tuple[int, Basis]:
    return "DMNR?".index(basis.letter), basis


def _cell(basis: Basis, number: int) -> str:
    return f'<td class="{_CLASSES[basis.letter]}">{basis.letter}<sup>{number}</sup></td>'


class CompatibilityTable(Directive):
    """``{compatibility-table} ltoir``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The table as HTML; other builders leave it out."""
        root = "../" * self.state.document.settings.env.docname.count("/")
        text = html(GRIDS[self.arguments[0]](), root)
        return [nodes.raw("", text, format="html")]


class MinimumDrivers(Directive):
    """``{minimum-drivers}``: a row for each CUDA release; its text is in the search's index."""

    def run(self) -> list[nodes.Node]:
        """The table, newest release first."""
        heads = ("CUDA", "branch", "driver on Linux", "on Windows", "PTX", "for SASS alone")
        return [_text_table(heads, list(_minimum_drivers())[::-1])]


def _minimum_drivers() -> Iterator[tuple[str, ...]]:
    versions = {row["cuda"]: row["isa"] for row in table("ptx")["isa"]}
    ptx = ""
    for release, patches in groupby(rows(ToolkitDriver), key=lambda row: row.cuda):
        first = next(patches)
        floor = major_floor(release.major)
        sass = f"R{floor.branch}" if floor else ""
        branch = cuda_branch(release)
        ptx = versions.get(str(release), ptx)
        drivers = (first.linux or "unknown", first.windows or "-")
        yield (str(release), f"R{branch}" if branch else "", *drivers, ptx, sass)


def _text_table(heads: tuple[str, ...], lines: list[tuple[str, ...]]) -> nodes.table:
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in heads), cols=len(heads))
    head, *body = (
        nodes.row("", *(nodes.entry("", nodes.paragraph("", text)) for text in line))
        for line in (heads, *lines)
    )
    group += [nodes.thead("", head), nodes.tbody("", *body)]
    return nodes.table("", group)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_directive("compatibility-table", CompatibilityTable)
    app.add_directive("minimum-drivers", MinimumDrivers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
