"""The answers of a survey as one page: a sentence, a picture, and the rows that both come from."""

from __future__ import annotations

from ltocompat.commands.survey.answer_values import (
    Answer,
    Bars,
    Bytes,
    Claim,
    Command,
    Grid,
    RuleId,
    SurveyReport,
    Table,
    Value,
)
from ltocompat.model.verdict import Verdict
from ltocompat.model.version import rule_url
from ltocompat.model.words import count
from ltocompat.report import Writable
from ltocompat.report.formats.html.charts import bars, grid
from ltocompat.report.formats.html.elements import Section, badge, code, escaped, scrolling, table
from ltocompat.report.formats.html.page import Page
from ltocompat.report.text import binary_size


def write(report: SurveyReport, stream: Writable) -> None:
    """Write the page."""
    day = (report.finished or report.started).date()
    page = Page(
        title=f"{count(report.packages, 'package')} surveyed",
        tab=f"CUDA packages, {day}: ltocompat",
        lede=_lede(report),
        sections=[*map(_answer, report.answers)],
        styles=("page.css", "survey.css"),
        scripts=("survey.js",),
    )
    stream.write(page.text())


def _lede(report: SurveyReport) -> str:
    until = "not finished" if report.finished is None else f"finished {report.finished.date()}"
    facts = ", ".join(report.facts)
    return (
        f'<p class="intro">Begun {report.started.date()}, {until}; read by ltocompat '
        f"{escaped(facts)}. Each answer has its rows below it, each row the line that asks again, "
        "in the folder that has the package. What fails somewhere need not be meant to work there."
        "</p>"
    )


def _answer(answer: Answer) -> Section:
    claims = "".join(f"<li>{_claim(answer, claim)}</li>" for claim in answer.claims)
    parts = [f'<ul class="claims">{claims}</ul>']
    if isinstance(answer.chart, Grid) and answer.chart.rows:
        parts.append(grid(answer.chart))
    elif isinstance(answer.chart, Bars) and answer.chart.bars:
        parts.append(bars(answer.chart))
    if answer.table.rows:
        parts.append(_rows(answer))
    if answer.query:
        parts.append(f'<p class="query">Ask the dataset: {code(answer.query)}</p>')
    word = escaped(answer.name.capitalize())
    return Section(answer.name, escaped(answer.question), parts, word)


def _claim(answer: Answer, claim: Claim) -> str:
    """A sentence with a link to the rows that it counts, as far as the page has them."""
    there = [row for row in claim.rows if row < len(answer.table.rows)]
    if not there:
        return escaped(claim.text)
    places = " ".join(map(str, there))
    return (
        f'{escaped(claim.text)} <a class="counted" href="#{answer.name}-rows" '
        f'data-rows="{places}">{count(len(there), "row")}</a>'
    )


def _rows(answer: Answer) -> str:
    asked = answer.table
    head = "".join(f'<th scope="col">{escaped(title)}</th>' for title in asked.columns)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in asked.rows)
    inner = scrolling(answer.question, table("rows", f"<tr>{head}</tr>", lines))
    summary = f"<summary>{_how_many(asked)}</summary>"
    return f'<details class="card" id="{answer.name}-rows">{summary}{inner}</details>'


def _how_many(table: Table) -> str:
    shown = count(len(table.rows), "row")
    if not table.left_out:
        return shown
    return f"the first {shown} of {len(table.rows) + table.left_out:,}; the dataset has all"


def _cell(value: Value) -> str:
    if value is None or value == "":
        return '<td class="none">-</td>'
    if isinstance(value, Verdict):
        return f'<td data-sort="{int(value)}">{badge(value)}</td>'
    if isinstance(value, int | float):
        shown = binary_size(value) if isinstance(value, Bytes) else f"{value:,}"
        return f'<td class="number" data-sort="{value}">{shown}</td>'
    if isinstance(value, RuleId):
        return f'<td><a href="{escaped(rule_url(value))}">{escaped(value)}</a></td>'
    return f"<td>{code(value) if isinstance(value, Command) else escaped(value)}</td>"
