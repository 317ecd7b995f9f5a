"""The answers of a survey as one page: a sentence, a picture, and the rows that both come from."""

from __future__ import annotations

from ltocompat.commands.survey.answer_values import (
    Answer,
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

# How the value of a cell is written, by the first of these that it is.
_KINDS = (
    (Verdict, "verdict"),
    (Bytes, "bytes"),
    (int | float, "number"),
    (RuleId, "rule"),
    (Command, "command"),
)


class _AnswerSection(Section, frozen=True, kw_only=True):
    """The section of an answer."""

    answer: Answer


def write(report: SurveyReport, stream: Writable) -> None:
    """Write the page."""
    page = rendered(
        [*map(_section, report.answers)],
        ("page.css", "survey.css"),
        "survey.js",
        title=f"{count(report.packages, 'package')} surveyed",
        tab=f"CUDA packages, {(report.finished or report.started).date()}: ltocompat",
        lede="survey_lede.html",
        report=report,
        kind_of=_kind_of,
    )
    stream.write(page)


def _section(answer: Answer) -> Section:
    word = "PTX" if answer.name == "ptx" else answer.name.capitalize()
    return _AnswerSection(answer.name, answer.question, "survey.html", word, answer=answer)


def _kind_of(value: Value) -> str:
    if value is None or value == "":
        return "none"
    return next((kind for types, kind in _KINDS if isinstance(value, types)), "text")
