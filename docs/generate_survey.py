"""Write survey-tables.md and survey-answers.md: python docs/generate_survey.py [--check]."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

from generated_page import write_or_check

from ltocompat.commands.survey.report import answer_queries
from ltocompat.commands.survey.tables import MEASURED, SCHEMA_VERSION, TABLES, Column, columns

TABLES_PAGE = Path(__file__).with_name("survey-tables.md")
ANSWERS_PAGE = Path(__file__).with_name("survey-answers.md")
_TYPES = {"str": "string", "int": "int64", "float": "double", "bool": "bool"}
_TYPES |= {"datetime": "timestamp (µs, UTC)", "tuple": "list of string"}

_INTRODUCTION = """\
# The tables of a survey

This page explains the columns in a dataset of [`ltocompat survey`](survey.md). The dataset has
version {version}. Each table is a folder of Parquet files. Columns in italics are measured: two
runs over the same packages give different numbers. New columns and values may be added. If a
column changes its meaning or is removed, the version number increases. `python
docs/generate_survey.py` writes this page.
"""


_ANSWERS = """\
# The queries of a survey

This page shows how DuckDB computes the answers of `ltocompat survey report` from
[the tables](survey-tables.md). To run the queries yourself, create these first:

* a view for each table: `CREATE VIEW images AS FROM 'OUT/images/*.parquet'`
* a table `version_ranks` with the columns `text` (each version) and `rank` (its place in the order
  of PEP 440)
* four variables, each with `SET VARIABLE`:
  * `branches = [525, 535, 550]`, but with all driver branches
  * `any_target = 'every target'`
  * `bytes_unread = 'IMG-02'`
  * `old_linker_admitted = 'NJL-06'`

Then run the common queries first, and then the queries of the answer that you want. `python
docs/generate_survey.py` writes this page.

## Common queries: run these first
"""


def _queries() -> Iterator[str]:
    document = answer_queries()
    yield _ANSWERS
    yield _sql(document["setup"])
    for answer in document["answer"]:
        yield f"## {answer['question']}\n"
        for title, name in (
            ("Run this query first", "setup"),
            ("Sentences", "claims"),
            ("Chart", "chart"),
            ("Rows", "rows"),
            ("A short version, which reads the files directly", "query"),
        ):
            if name in answer:
                yield f"{title}:\n\n{_sql(answer[name])}"


def _sql(text: str) -> str:
    return f"```sql\n{text.strip()}\n```\n"


def _parts() -> Iterator[str]:
    yield _INTRODUCTION.format(version=SCHEMA_VERSION)
    for name, row in TABLES.items():
        yield f"## `{name}`\n\n{inspect.cleandoc(row.__doc__ or '')}\n"
        yield "| column | type | meaning |\n|---|---|---|"
        yield "".join(f"{_row(column)}\n" for column in columns(name))


def _row(column: Column) -> str:
    kind = _TYPES[getattr(column.type, "__origin__", column.type).__name__]
    kind += " or null" if column.nullable else ""
    name = f"*{column.name}*" if column.name in MEASURED else f"`{column.name}`"
    words = f" One of {', '.join(f'`{word}`' for word in column.words)}." if column.words else ""
    return f"| {name} | {kind} | {column.meaning}{words} |"


if __name__ == "__main__":
    sys.exit(
        write_or_check(
            {TABLES_PAGE: "\n".join(_parts()), ANSWERS_PAGE: "\n".join(_queries())}, __doc__
        )
    )
