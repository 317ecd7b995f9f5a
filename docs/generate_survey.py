"""Write docs/survey-tables.md: python docs/generate_survey.py [--check]."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

from generated_page import write_or_check

from ltocompat.commands.survey.tables import MEASURED, SCHEMA_VERSION, TABLES, Column, columns

PAGE = Path(__file__).with_name("survey-tables.md")
_TYPES = {"str": "string", "int": "int64", "float": "double", "bool": "bool"}
_TYPES |= {"datetime": "timestamp (µs, UTC)", "tuple": "list of string"}

_INTRODUCTION = """\
# The tables of a survey

What the columns of a dataset of [`ltocompat survey`](survey.md) mean: version {version}. Each
table is a folder of Parquet files. Columns in italics are measured: two runs over the same packages
fill them differently. New columns and words may be added; where one changes its meaning or goes,
the version counts up. This page is written by `python docs/generate_survey.py`.
"""


def page() -> str:
    """The whole page."""
    return "\n".join(_parts())


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
    sys.exit(write_or_check({PAGE: page()}, __doc__))
