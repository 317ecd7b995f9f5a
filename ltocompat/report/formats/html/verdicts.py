"""The matrix of artifacts and targets in an HTML page, and why each cell says what it says."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from msgspec import Struct

from ltocompat.model.grouping import grouped
from ltocompat.model.target import ANY_TARGET
from ltocompat.model.verdict import Finding, Result, Verdict
from ltocompat.model.words import count, truncate_list
from ltocompat.report.cells import Cell, CellNames, cell_of, target_facts
from ltocompat.report.document import MEANINGS
from ltocompat.report.findings import SortedRecords, finding_key
from ltocompat.report.formats.html.elements import (
    Section,
    badge,
    code,
    escaped,
    forgiven,
    scrolling,
    shorten,
    table,
)

_OPEN = 4  # artifacts up to which the cells of each are listed at once

FindingIds = Mapping[tuple[object, ...], str]
"""Key of a finding -> ID of its element in the page."""


class _Alike(Struct, frozen=True):
    """Results of an artifact that say the same.

    Attributes:
        id: of the element that tells why.
        results: one for each cell.
    """

    id: str
    results: list[Result]

    @property
    def cells(self) -> list[Cell]:
        """The cells that they stand in."""
        return [cell_of(result) for result in self.results]


def verdict_sections(answer: SortedRecords, ids: FindingIds) -> tuple[Section, Section]:
    """Two sections: the matrix, and the reasons that its cells lead to."""
    names = answer.names
    alike = _alike(answer)
    used = {result.verdict for result in answer.results}
    legend = "".join(
        f"<li>{badge(verdict)} {MEANINGS[verdict]}</li>" for verdict in Verdict if verdict in used
    )
    intro = '<p class="intro">Each verdict leads to its reasons.</p>'
    parts = [
        intro,
        _matrix(answer, alike, names),
        f'<ul class="legend" aria-label="Verdicts">{legend}</ul>',
    ]
    unfolded = " open" if len(alike) <= _OPEN else ""
    reasons = [
        f'<details class="card"{unfolded}>{_reasons(path, groups, names, ids)}</details>'
        for path, groups in alike.items()
    ]
    return Section("verdicts", "Verdicts", parts), Section("why", "Why", reasons)


def _alike(answer: SortedRecords) -> dict[str, list[_Alike]]:
    numbers = itertools.count(1)
    return {
        path: [
            _Alike(f"why-{next(numbers)}", results)
            for results in grouped((_said(each), each) for each in artifact.results).values()
        ]
        for path, artifact in answer.artifacts.items()
    }


def _said(result: Result) -> tuple[object, ...]:
    keys = tuple(map(finding_key, result.findings))
    return (result.verdict, result.not_judged, result.why, keys)


def _matrix(answer: SortedRecords, alike: dict[str, list[_Alike]], names: dict[str, str]) -> str:
    every = [cell_of(result) for result in answer.results]
    columns = list(dict.fromkeys((cell.target, cell.gpu) for cell in every))
    columns.sort(key=lambda pair: list(names).index(pair[0]) if pair[0] in names else -1)
    routed = any(cell.route for cell in every)
    rows = []
    for path, artifact in answer.artifacts.items():
        ids = {cell: group.id for group in alike[path] for cell in group.cells}
        routes = list(dict.fromkeys(cell.route for cell in artifact.cells))
        span = f' rowspan="{len(routes)}"' if len(routes) > 1 else ""
        scope = "rowgroup" if len(routes) > 1 else "row"
        head = f'<th scope="{scope}"{span} class="artifact">{escaped(path)}</th>'
        for route in routes:
            of_route = [Cell(target, gpu, route) for target, gpu in columns]
            cells = [_cell(artifact.cells.get(cell), ids.get(cell, "")) for cell in of_route]
            way = f'<th scope="row" class="way">{escaped(route) or "any"}</th>' if routed else ""
            rows.append(f"<tr>{head}{way}{''.join(cells)}</tr>")
            head = ""
    heads = _heads(columns, names, routed=routed)
    drawn = table("matrix", heads, "".join(rows), "Verdicts on artifacts by deploy target and GPU")
    return scrolling("Artifacts by deploy target and GPU", drawn)


def _heads(columns: list[tuple[str, str]], names: dict[str, str], *, routed: bool) -> str:
    gpus = any(gpu for _, gpu in columns)
    deep = ' rowspan="2"' if gpus else ""
    first = f'<th scope="col"{deep} class="artifact">artifact</th>'
    if routed:
        first += f'<th scope="col"{deep} class="way">route</th>'
    targets = list(dict.fromkeys(target for target, _ in columns))
    for target in targets:
        wide = sum(text == target for text, _ in columns)
        name = escaped(names.get(target, target))
        kind = "colgroup" if gpus else "col"
        first += f'<th scope="{kind}" colspan="{wide}" class="target">{name}</th>'
    if not gpus:
        return f"<tr>{first}</tr>"
    unnamed = {ANY_TARGET.name: "any GPU"}
    second = "".join(
        f'<th scope="col">{escaped(gpu) or unnamed.get(target, "no GPU")}</th>'
        for target, gpu in columns
    )
    return f"<tr>{first}</tr><tr>{second}</tr>"


def _cell(result: Result | None, why: str) -> str:
    if result is None:
        return '<td><span class="none" aria-label="not judged">\u2013</span></td>'
    coverage = result.coverage
    more = forgiven(result.forgiven)
    if result.verdict > Verdict.JIT and result.extent.partial:
        more += f"<small>{result.extent}</small>"
    elif result.verdict < Verdict.UNKNOWN and coverage.modules > 1:
        more += f"<small>{coverage.served:,} of {coverage.modules:,}</small>"
    if result.not_judged:
        more += f"<small>not judged: {', '.join(result.not_judged)}</small>"
    return f'<td><a href="#{why}">{badge(result.verdict, more)}</a></td>'


def _reasons(path: str, groups: list[_Alike], names: dict[str, str], ids: FindingIds) -> str:
    cells = CellNames([cell for group in groups for cell in group.cells], names)
    text = "".join(_cells_alike(path, group, cells, ids) for group in groups)
    worst = max(group.results[0].verdict for group in groups)
    return f"<summary>{badge(worst)} <h3>{escaped(path)}</h3></summary>{text}"


def _cells_alike(path: str, group: _Alike, cells: CellNames, ids: FindingIds) -> str:
    result = group.results[0]
    words = cells.words(group.cells) or result.target.name
    where = "all targets" if words == "all" else words
    halves = f"; not judged: {', '.join(result.not_judged)}" if result.not_judged else ""
    return (
        f'<details id="{group.id}"><summary>{badge(result.verdict, forgiven(result.forgiven))} '
        f'<span class="where">on {escaped(where)}{halves}</span></summary>'
        f'<div class="body">{"".join(_because(path, result, ids))}</div></details>'
    )


def _because(path: str, result: Result, ids: FindingIds) -> Iterator[str]:
    coverage = result.coverage
    if coverage.modules:
        yield (
            f"<p>{coverage.served:,} of {count(coverage.modules, 'module')} serve this GPU: "
            f"{coverage.sass:,} by SASS, {coverage.ptx:,} by PTX, {coverage.link:,} by a link."
            "</p>"
        )
    if result.findings:
        distinct = {finding_key(finding): finding for finding in result.findings}
        links = "".join(_link(finding, ids[key]) for key, finding in distinct.items())
        yield f'<ul class="links">{links}</ul>'
    if result.why:
        lines = "".join(f"<li>{escaped(shorten(line, path))}</li>" for line in result.why)
        yield f'<ul class="reasons">{lines}</ul>'


def _link(finding: Finding, element_id: str) -> str:
    text = f'<a href="#{element_id}">{escaped(finding.rule)}</a>: {escaped(finding.message)}'
    return f"<li>{badge(finding.level, forgiven(finding.forgiven))} {text}</li>"


def targets_section(answer: SortedRecords) -> Section:
    """The section that says what each target is."""
    names = answer.names
    rows = []
    for target in answer.targets:
        label = names[target.name]
        letter = f"<b>{escaped(label)}</b> " if label != target.name else ""
        facts = target_facts(target)
        if target.nodes:
            nodes = count(len(target.nodes), "node")
            facts = f"{nodes} ({truncate_list(target.nodes, 8)}): {facts}"
        rows.append(f"<dt>{letter}{code(target.name)}</dt><dd>{escaped(facts)}</dd>")
    return Section("targets", "Deploy targets", [f'<dl class="targets">{"".join(rows)}</dl>'])
