"""Parts of an answer of a survey: sentences, a chart, rows."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, field

from ltocompat.model.verdict import Verdict


class Bytes(int):
    """A number of bytes."""


class Command(str):
    """A line to paste."""

    __slots__ = ()


class RuleId(str):
    """The ID of a rule; reports link it to the rule's page."""

    __slots__ = ()


# The value of a cell: a text, a number, ``Bytes``, ``Command``, ``RuleId`` or a verdict.
Value = str | int | float | Verdict | None


class Table(Struct, frozen=True):
    """The rows behind an answer.

    Attributes:
        columns: the titles of the columns.
        rows: the rows, with one value for each column.
        left_out: number of further rows, which the dataset has.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    left_out: int = 0


class Chart(Struct, frozen=True):
    """The numbers of a chart, row by row.

    Attributes:
        title: the title of the chart.
        columns: the meaning of each number of a row.
        rows: a label, and for each column a number and its whole; None for no number.
        unit: ``packages``, ``bytes``, or ``shares``, which show both numbers.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[int, int] | None, ...]], ...]
    unit: str = "packages"


class Claim(Struct, frozen=True):
    """A sentence, and the rows that it counts.

    Attributes:
        text: the sentence, with its numbers.
        rows: indices of these rows in the answer's table.
    """

    text: str
    rows: tuple[int, ...] = ()


class Answer(Struct, frozen=True):
    """The answer to one question.

    Attributes:
        name: an ID, ``ptx``.
        question: the question.
        claims: the sentences of the answer.
        chart: the chart of its numbers.
        table: the rows behind its numbers.
        query: a similar query of the dataset in DuckDB's SQL.
    """

    name: str
    question: str
    claims: tuple[Claim, ...]
    chart: Chart | None = None
    table: Table = field(default_factory=lambda: Table((), ()))
    query: str = ""


class SurveyReport(Struct, frozen=True):
    """The answers that a dataset gives.

    Attributes:
        folder: the folder of the dataset.
        started: begin of its first run.
        finished: end of its last run; None if it is unfinished.
        facts: the versions of ltocompat that read the packages.
        packages: number of packages in it.
        answers: the answers.
    """

    folder: str
    started: datetime
    finished: datetime | None
    facts: tuple[str, ...]
    packages: int
    answers: tuple[Answer, ...]
