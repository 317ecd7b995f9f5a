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
    """The ID of a rule, which has a page."""

    __slots__ = ()


Value = str | int | float | Verdict | None
"""The value of a cell: a text, a number, ``Bytes``, ``Command``, ``RuleId`` or a verdict."""


class Table(Struct, frozen=True):
    """The rows behind an answer.

    Attributes:
        columns: their titles.
        rows: the values, as many a row as there are columns.
        left_out: how many more rows there are; the dataset has them.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    left_out: int = 0


class Chart(Struct, frozen=True):
    """Numbers to be drawn, row by row.

    Attributes:
        title: what is drawn.
        columns: what each number of a row is of.
        rows: a label, and for each column a number and what it is a part of; None for none.
        unit: ``packages``, ``bytes``, or ``shares``, of which both numbers are said.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[int, int] | None, ...]], ...]
    unit: str = "packages"


class Claim(Struct, frozen=True):
    """A sentence, and what it counts.

    Attributes:
        text: the sentence, with its numbers.
        rows: places in the answer's table of the rows that it counts.
    """

    text: str
    rows: tuple[int, ...] = ()


class Answer(Struct, frozen=True):
    """The answer to one question.

    Attributes:
        name: an ID, ``ptx``.
        question: what was asked.
        claims: sentences with the numbers.
        chart: a picture of them.
        table: the rows that they come from.
        query: how to ask the dataset something like it, in DuckDB's SQL.
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
        folder: of the dataset.
        started: when its first run began.
        finished: when its last came to its end; None: it did not yet.
        facts: the versions of ltocompat that read the packages.
        packages: how many packages it has.
        answers: the answers.
    """

    folder: str
    started: datetime
    finished: datetime | None
    facts: tuple[str, ...]
    packages: int
    answers: tuple[Answer, ...]
