"""Answers of a survey, from a dataset that is there: DuckDB computes them, as answers.toml asks.

What a page shows stays small whatever the dataset: aggregates, and of the rows behind them those
that matter most. DuckDB has bounds on its memory, and spills what does not fit.
"""

from __future__ import annotations

import pkgutil
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from packaging.version import InvalidVersion, Version

from ltocompat.commands.survey.answer_values import (
    Answer,
    Bar,
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
from ltocompat.commands.survey.dataset import Dataset
from ltocompat.commands.survey.extra import extra
from ltocompat.commands.survey.options import ReportOptions
from ltocompat.commands.survey.tables import TABLES
from ltocompat.facts.drivers import driver_branches
from ltocompat.model.errors import UnreadableInput
from ltocompat.model.target import ANY_TARGET
from ltocompat.model.verdict import Verdict
from ltocompat.rules.builtin_rules import BYTES_UNREAD, OLD_LINKER_ADMITTED

MOST_ROWS = 500
"""Rows behind an answer that are shown."""

_SETTINGS = {"memory_limit": "512MB", "threads": 2}
_TYPES: dict[str, Any] = {
    "ask again": Command,
    "could be saved": Bytes,
    "device code": Bytes,
    "first rule": RuleId,
    "host debug": Bytes,
    "package": Bytes,
    "rule": RuleId,
    "verdict": lambda word: Verdict[word.upper()],
}


def answer_queries() -> dict[str, Any]:
    """The document answers.toml."""
    return tomllib.loads((pkgutil.get_data(__name__, "answers.toml") or b"").decode())


def run(options: ReportOptions) -> Iterator[SurveyReport]:
    """The answers of a survey.

    Raises:
        UnreadableInput: there is none, or it can't be read.
        Missing: DuckDB or pyarrow is not installed.
    """
    dataset, duckdb = Dataset(options.folder), extra("duckdb")
    queries = answer_queries()
    with (
        tempfile.TemporaryDirectory() as spilled,
        duckdb.connect(config=_SETTINGS | {"temp_directory": spilled}) as database,
    ):
        try:
            _set_up(database, dataset)
            database.execute(queries["setup"])
            answers = tuple(_answer(database, query) for query in queries["answer"])
            ((packages,),) = database.execute("SELECT count(*) FROM distributions").fetchall()
        except (duckdb.Error, OSError) as error:
            raise UnreadableInput(f"{options.folder!r} can't be read: {error}") from error
    manifest = dataset.manifest
    yield SurveyReport(
        options.folder,
        manifest.runs[0].started,
        manifest.finished,
        tuple(dict.fromkeys(run.facts for run in manifest.runs)),
        packages,
        answers,
    )


def _set_up(database: Any, dataset: Dataset) -> None:  # noqa: ANN401 - a connection of DuckDB's
    """Give DuckDB the tables of a dataset, and of our facts those that answers need."""
    for name in TABLES:
        database.register(name, dataset.scan(name))
    for name, value in {
        "branches": list(driver_branches()),
        "any_target": ANY_TARGET.name,
        "bytes_unread": BYTES_UNREAD,
        "old_linker_admitted": OLD_LINKER_ADMITTED,
    }.items():
        database.execute(f"SET VARIABLE {name} = ?", [value])
    texts = database.execute("SELECT DISTINCT coalesce(version, '') FROM distributions").fetchall()
    ranks = extra("pyarrow").table(
        {
            "text": [text for (text,) in texts],
            "rank": _ranks([_version(text) for (text,) in texts]),
        }
    )
    database.register("version_ranks", ranks)


def _version(text: str) -> Version:
    with suppress(InvalidVersion):
        return Version(text or "0")
    return Version("0")


def _ranks(versions: list[Version]) -> list[int]:
    """The place of each version among all of them; equal ones have the same."""
    places = {version: place for place, version in enumerate(sorted(set(versions)))}
    return [places[version] for version in versions]


def _answer(database: Any, query: dict[str, Any]) -> Answer:  # noqa: ANN401
    database.execute(query.get("setup", ""))
    claims = database.execute(query["claims"]).fetchall()
    table, counted = _table(database, query["rows"])
    return Answer(
        query["name"],
        query["question"],
        tuple(
            Claim(text, tuple(row for row, claims in enumerate(counted) if number in claims))
            for number, (text,) in enumerate(claims, 1)
        ),
        _chart(database, query),
        table,
        query["query"],
    )


def _table(database: Any, query: str) -> tuple[Table, list[list[int]]]:  # noqa: ANN401
    """The first rows of a query, and for each the sentences that count it."""
    database.execute(f"CREATE OR REPLACE TEMP TABLE answer AS {query}")
    ((every,),) = database.execute("SELECT count(*) FROM answer").fetchall()
    found = database.execute("SELECT counted, * EXCLUDE counted FROM answer LIMIT ?", [MOST_ROWS])
    _, *columns = (column[0] for column in found.description)
    rows = found.fetchall()
    made = tuple(tuple(map(_value, columns, row[1:])) for row in rows)
    return Table(tuple(columns), made, every - len(made)), [row[0] or [] for row in rows]


def _value(column: str, value: Any) -> Value:  # noqa: ANN401 - whatever a column holds
    made: Value = value if value is None else _TYPES.get(column, lambda same: same)(value)
    return made


def _chart(database: Any, query: dict[str, Any]) -> Bars | Grid | None:  # noqa: ANN401
    if "grid" in query:
        found = database.execute(query["grid"]).fetchall()
        rows, columns = (tuple(dict.fromkeys(row[place] for row in found)) for place in (0, 1))
        shares = {(row, column): (some, total) for row, column, some, total in found if total}
        cells = (tuple(shares.get((row, column)) for column in columns) for row in rows)
        return Grid(query["grid_title"], rows, columns, tuple(cells))
    if "chart" not in query:
        return None
    found = database.execute(query["chart"])
    parts = tuple(column[0] for column in found.description[1:])
    bars = tuple(Bar(label, tuple(values)) for label, *values in found.fetchall())
    return Bars(query["chart_title"], parts, bars, query.get("bytes", False))
