"""Findings in an HTML page: by rule, folded, with a filter that a script brings to life."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ltocompat.model.grouping import grouped
from ltocompat.model.verdict import MOST_KERNELS
from ltocompat.model.version import rule_url
from ltocompat.model.words import count
from ltocompat.report.cells import CellNames
from ltocompat.report.findings import LEVELS, GroupedFinding, prose_of
from ltocompat.report.formats.html.elements import Section, badge, code, escaped, forgiven, shorten

_OPEN = 25  # findings of a rule up to which they are shown at once
_MOST_PLACES = 20  # places of a finding that are listed


def findings_section(found: Sequence[GroupedFinding], cells: CellNames) -> Section:
    """The section; the ID of a finding is its number in ``found``.

    Args:
        found: worst first.
        cells: what to call the cells that were judged.
    """
    if not found:
        return Section("findings", "Findings", ['<p class="intro">There is none.</p>'])
    by_rule = grouped((group.finding.rule, (number, group)) for number, group in enumerate(found))
    groups = [_group(rule, held, cells) for rule, held in by_rule.items()]
    return Section("findings", "Findings", [_filter(found), *groups])


def _filter(found: Sequence[GroupedFinding]) -> str:
    """Hidden until the script shows it: without a script it could do nothing."""
    numbers = Counter(group.finding.level for group in found)
    boxes = "".join(
        f'<label><input type="checkbox" name="level" value="{level}" checked>'
        f"{badge(level, f'<small>{numbers[level]:,}</small>')}</label>"
        for level in LEVELS
        if numbers[level]
    )
    return (
        '<form id="filter" role="search" aria-label="Findings" hidden>'
        '<label class="text"><span>Filter</span><input type="search" name="text" '
        'autocomplete="off" placeholder="rule, library, GPU, word"></label>'
        f'<fieldset><legend class="unseen">Levels</legend>{boxes}</fieldset>'
        '<span class="buttons"><button type="button" id="unfold">Unfold all</button>'
        '<button type="button" id="fold">Fold all</button></span>'
        f'<output id="shown" aria-live="polite">{count(len(found), "finding")}</output></form>'
    )


def _group(rule_id: str, held: list[tuple[int, GroupedFinding]], cells: CellNames) -> str:
    prose = prose_of(rule_id)
    title = f": {escaped(prose.title)}" if prose else ""
    page = f'<a href="{rule_url(rule_id)}">All about {escaped(rule_id)}</a>' if prose else ""
    about = f"<p>{escaped(prose.statement)} {page}</p>" if prose else ""
    unfolded = " open" if len(held) <= _OPEN else ""
    inner = "".join(_finding(number, group, cells) for number, group in held)
    return (
        f'<details class="card rule"{unfolded}><summary><h3>{escaped(rule_id)}{title}</h3> '
        f'<span class="number">{count(len(held), "finding")}</span></summary>'
        f'<div class="about">{about}</div>{inner}</details>'
    )


def _finding(number: int, group: GroupedFinding, cells: CellNames) -> str:
    finding = group.finding
    rows = "".join(f"<dt>{word}</dt><dd>{text}</dd>" for word, text in _facts(group, cells))
    mark = badge(finding.level, forgiven(finding.forgiven))
    return (
        f'<details class="finding" id="finding-{number}" data-level="{finding.level}"><summary>'
        f"{mark} <span>{escaped(finding.message)}</span></summary>"
        f'<dl class="body">{rows}</dl></details>'
    )


def _facts(group: GroupedFinding, cells: CellNames) -> Iterator[tuple[str, str]]:
    finding = group.finding
    if group.remedies:
        yield "Remedy", "<br>".join(escaped(remedy) for remedy in group.remedies)
    yield "Verdict", badge(finding.verdict, forgiven(finding.forgiven))
    if where := cells.words(group.cells):
        yield "On", "all targets" if where == "all" else escaped(where)
    yield "In", _first([*map(_artifact, group.modules.items())], _MOST_PLACES)
    if places := [code(shorten(str(place), place.path)) for place in group.places.values()]:
        yield "First at", _first(places, _MOST_PLACES)
    if group.kernels:
        some = group.kernel_modules < group.module_count
        where = f"Kernels of {group.kernel_modules:,} modules" if some else "Kernels"
        yield where, _first([*map(code, group.kernels)], MOST_KERNELS)
    if finding.evidence:
        yield "Evidence", escaped(finding.evidence)
    if finding.source:
        yield "Source", escaped(finding.source)


def _first(lines: list[str], most: int) -> str:
    more = [f"and {len(lines) - most:,} more"] if len(lines) > most else []
    return "<br>".join([*lines[:most], *more])


def _artifact(counted: tuple[str, int]) -> str:
    path, modules = counted
    return escaped(path) + (f" ({count(modules, 'module')})" if modules else "")
