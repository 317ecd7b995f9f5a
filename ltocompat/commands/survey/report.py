"""Answers of a survey, from a dataset that is there: DuckDB computes them, as answers.toml asks.

What a page shows stays small whatever the dataset: aggregates, and of the rows behind them those
that matter most. DuckDB has bounds on its memory, and spills what does not fit.
"""

from __future__ import annotations

import pkgutil
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from packaging.version import InvalidVersion, Version

from ltocompat.commands.survey.answer_values import (
    Answer,
    Bytes,
    Chart,
    Claim,
    Command,
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
from ltocompat.model.errors import UnreadableInput, readable
from ltocompat.model.target import ANY_TARGET
from ltocompat.model.verdict import Verdict
from ltocompat.rules.builtin_rules import BYTES_UNREAD, OLD_LINKER_ADMITTED

# Number of rows shown for an answer.
MOST_ROWS = 500

_SETTINGS = {"memory_limit": "512MB", "threads": 2}
_BYTES = ("could be saved", "device code", "host debug", "package")
_TYPES: dict[str, Any] = dict.fromkeys(_BYTES, Bytes) | {
    "command": Command,
    "first rule": RuleId,
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
    dataset = Dataset(options.folder)
    try:
        answers, packages = _answers(dataset)
    except UnreadableInput:  # a run that begins takes away the parts that it tries again
        answers, packages = _answers(dataset)
    manifest = dataset.manifest
    facts = tuple(dict.fromkeys(run.facts for run in manifest.runs))
    started, finished = manifest.runs[0].started, manifest.finished
    yield SurveyReport(options.folder, started, finished, facts, packages, answers)


def _answers(dataset: Dataset) -> tuple[tuple[Answer, ...], int]:
    """All answers, and the number of packages."""
    queries = answer_queries()
    with opened(dataset) as database:
        _set_up(database)
        database.execute(queries["setup"])
        answers = tuple(_answer(database, query) for query in queries["answer"])
        ((packages,),) = database.execute("SELECT count(*) FROM distributions").fetchall()
    return answers, packages


@contextmanager
def opened(dataset: Dataset) -> Iterator[Any]:
    """Open a DuckDB connection with the tables of a dataset.

    Raises:
        UnreadableInput: it can't be read.
        Missing: DuckDB or pyarrow is not installed.
    """
    duckdb = extra("duckdb")
    with (
        tempfile.TemporaryDirectory() as spilled,
        duckdb.connect(config=_SETTINGS | {"temp_directory": spilled}) as database,
        readable(repr(dataset.folder.address), duckdb.Error, OSError),
    ):
        for name in TABLES:
            database.register(name, dataset.scan(name))
        yield database


def _set_up(database: Any) -> None:  # noqa: ANN401 - a connection of DuckDB's
    """Give DuckDB those of our facts that answers need."""
    for name, value in {
        "branches": list(driver_branches()),
        "any_target": ANY_TARGET.name,
        "bytes_unread": BYTES_UNREAD,
        "old_linker_admitted": OLD_LINKER_ADMITTED,
    }.items():
        database.execute(f"SET VARIABLE {name} = ?", [value])
    found = database.execute("SELECT DISTINCT coalesce(version, '') FROM distributions").fetchall()
    versions = {text: _version(text) for (text,) in found}
    places = {version: place for place, version in enumerate(sorted(set(versions.values())))}
    ranks = {"text": list(versions), "rank": [places[each] for each in versions.values()]}
    database.register("version_ranks", extra("pyarrow").table(ranks))


def _version(text: str) -> Version:
    with suppress(InvalidVersion):
        return Version(text or "0")
    return Version("0")


def _answer(database: Any, query: dict[str, Any]) -> Answer:  # noqa: ANN401
    database.execute(query.get("setup", ""))
    claims = database.execute(query["claims"]).fetchall()
    database.execute(f"CREATE OR REPLACE TEMP TABLE answer AS {query['rows']}")
    ((every,),) = database.execute("SELECT count(*) FROM answer").fetchall()
    found = database.execute("SELECT counted, * EXCLUDE counted FROM answer LIMIT ?", [MOST_ROWS])
    _, *columns = (column[0] for column in found.description)
    counted, rows = [], []
    for places, *values in found.fetchall():
        counted.append(places or ())
        rows.append(tuple(map(_value, columns, values)))
    return Answer(
        query["name"],
        query["question"],
        tuple(
            Claim(text, tuple(row for row, places in enumerate(counted) if number in places))
            for number, (text,) in enumerate(claims, 1)
        ),
        _chart(database, query) if "chart" in query else None,
        Table(tuple(columns), tuple(rows), every - len(rows)),
        query["query"],
    )


def _value(column: str, value: Any) -> Value:  # noqa: ANN401 - whatever a column holds
    made: Value = value if value is None else _TYPES.get(column, lambda same: same)(value)
    return made


def _chart(database: Any, query: dict[str, Any]) -> Chart:  # noqa: ANN401
    found = database.execute(query["chart"])
    unit = query.get("unit", "packages")
    columns = tuple(column[0] for column in found.description[1:])
    rows = found.fetchall()
    if unit == "shares":
        labels, columns = (tuple(dict.fromkeys(row[place] for row in rows)) for place in (0, 1))
        cells = {row[:2]: row[2:] for row in rows if row[3]}
        drawn = [(each, tuple(cells.get((each, name)) for name in columns)) for each in labels]
    else:
        most = max((number for row in rows for number in row[1:]), default=0)
        drawn = [(label, tuple((number, most) for number in numbers)) for label, *numbers in rows]
    return Chart(query["chart_title"], columns, tuple(drawn), unit)
