"""The answers of a survey as one page: a sentence, a picture, and the rows that both come from."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ltocompat.commands.survey.answer_values import (
    Answer,
    Bar,
    Bars,
    Bytes,
    Command,
    RuleId,
    SurveyReport,
    Value,
)
from ltocompat.model.verdict import Verdict
from ltocompat.model.words import count
from ltocompat.report import Writable
from ltocompat.report.formats.html.page import Section, rendered
from ltocompat.report.text import binary_size

_LEFT, _WIDTH = 148, 460  # of the bars, the longest bar
# How the value of a cell is written, by the first of these that it is.
_KINDS = (
    (Verdict, "verdict"),
    (Bytes, "bytes"),
    (int | float, "number"),
    (RuleId, "rule"),
    (Command, "command"),
)


class _DrawnBar(Struct, frozen=True):
    """A bar of a chart, as it is drawn and read aloud.

    Attributes:
        label: what it is of.
        parts: the number of each part, where it begins, and its width.
        end: where the number stands behind it.
        number: of all parts.
        aloud: its label and the numbers of its parts.
    """

    label: str
    parts: tuple[tuple[int, float, float], ...]
    end: float
    number: str
    aloud: str


class _AnswerSection(Section, frozen=True, kw_only=True):
    """The section of an answer, with the bars of its chart."""

    answer: Answer
    bars: tuple[_DrawnBar, ...] = ()


def write(report: SurveyReport, stream: Writable) -> None:
    """Write the page."""
    day = (report.finished or report.started).date()
    page = rendered(
        [*map(_section, report.answers)],
        ("page.css", "survey.css"),
        "survey.js",
        title=f"{count(report.packages, 'package')} surveyed",
        tab=f"CUDA packages, {day}: ltocompat",
        lede="survey_lede.html",
        report=report,
        kind_of=_kind_of,
    )
    stream.write(page)


def _section(answer: Answer) -> Section:
    bars = tuple(_drawn(answer.chart)) if isinstance(answer.chart, Bars) else ()
    word = answer.name.capitalize()
    return _AnswerSection(
        answer.name, answer.question, "survey.html", word, answer=answer, bars=bars
    )


def _kind_of(value: Value) -> str:
    if value is None or value == "":
        return "none"
    return next((kind for types, kind in _KINDS if isinstance(value, types)), "text")


def _drawn(chart: Bars) -> Iterable[_DrawnBar]:
    most = max((sum(bar.parts) for bar in chart.bars), default=0) or 1
    for bar in chart.bars:
        left, parts = float(_LEFT), []
        for index, value in enumerate(bar.parts):
            wide = _WIDTH * value / most
            if value:
                parts.append((index, left, max(wide, 1)))
            left += wide
        number = _number(chart, sum(bar.parts))
        aloud = f"{bar.label}: {', '.join(_spoken(chart, bar))}"
        yield _DrawnBar(bar.label, tuple(parts), left + 6, number, aloud)


def _spoken(chart: Bars, bar: Bar) -> Iterable[str]:
    for name, value in zip(chart.parts, bar.parts, strict=True):
        if value:
            yield f"{_number(chart, value)} {'' if chart.of_bytes else name}".strip()


def _number(chart: Bars, value: int) -> str:
    return binary_size(value) if chart.of_bytes else f"{value:,}"
