"""The answers of a survey: sentences on a terminal, or one page with the rows behind them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ltocompat.model.words import count
from ltocompat.report import Failure, Writable, answers
from ltocompat.report.text import escape

if TYPE_CHECKING:
    from ltocompat.commands.survey.answer_values import SurveyReport

_WIDTH = 80


def write(records: Iterable[SurveyReport | Failure], stream: Writable) -> None:
    """Write the sentences."""
    for record in answers(records):
        stream.write(f"{count(record.packages, 'package')} in {escape(record.folder)}\n")
        for answer in record.answers:
            stream.write(f"\n{answer.question}\n")
            for claim in answer.claims:
                lines = textwrap.wrap(escape(claim.text), _WIDTH - 2, break_on_hyphens=False)
                stream.write("".join(f"  {line}\n" for line in lines))


def write_page(records: Iterable[SurveyReport | Failure], stream: Writable) -> None:
    """Write the page."""
    from ltocompat.report.formats.html.survey import write as write_html

    for record in answers(records):
        write_html(record, stream)
