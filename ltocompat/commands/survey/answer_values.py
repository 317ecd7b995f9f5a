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


class Bar(Struct, frozen=True):
    """One bar of a chart, of one or several parts.

    Attributes:
        label: what it is of.
        parts: a number each, in the order of ``Bars.parts``.
    """

    label: str
    parts: tuple[int, ...]


class Bars(Struct, frozen=True):
    """A horizontal bar chart.

    Attributes:
        title: what is drawn.
        parts: what the parts of a bar are called; a verdict's word has its colour.
        bars: from the top.
        of_bytes: the numbers are bytes.
    """

    title: str
    parts: tuple[str, ...]
    bars: tuple[Bar, ...]
    of_bytes: bool = False


class Grid(Struct, frozen=True):
    """A chart of shares, by two things.

    Attributes:
        title: what is drawn.
        rows: what each row is of.
        columns: what each column is of.
        cells: for each row and column how many, and of how many; None where there are none.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[tuple[int, int] | None, ...], ...]


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
    chart: Bars | Grid | None = None
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
