"""Tables of facts as one document, which others read, and which may be newer than the program.

The columns of a table, their types and those that may be missing are those of the program's own
rows: no list of them has to be kept beside the tables.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from ltocompat.facts import own_table, table_names
from ltocompat.model.errors import UsageError
from ltocompat.model.records_v1.facts import Facts

Row = Mapping[str, Any]
Tables = dict[str, dict[str, list[dict[str, Any]]]]

_MOST_BYTES = 64 << 20
# What the program reads as numbers stays that: releases and versions, months.
_PATTERNS = (r"^[0-9]{1,9}(\.[0-9]{1,9})*$", r"^[0-9]{4}-[0-9]{2}$")


@functools.cache
def read_tables(path: str) -> Tables:
    """Read the tables of a document that ``ltocompat facts --format json`` wrote.

    Raises:
        UsageError: it can't be read, doesn't follow the schema, or is older than the program.
    """
    again = "write it with: ltocompat facts --format json, of this version or a newer one"
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"LTOCOMPAT_FACTS: {path} can't be read ({error.strerror})") from error
    if len(data) > _MOST_BYTES:
        raise UsageError(f"LTOCOMPAT_FACTS: {path} has more than {_MOST_BYTES} bytes; {again}")
    schema: Any = Literal[Facts.__struct_config__.tag]
    document = msgspec.defstruct("Document", [("schema", schema), ("tables", tables_type())])
    try:
        msgspec.json.decode(data, type=document)
        tables: Tables = msgspec.json.decode(data)["tables"]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(
            f"LTOCOMPAT_FACTS: {path} is not a facts document: {error}; {again}"
        ) from None
    _see_floors(path, tables)
    own, there = newest_date(own_tables()), newest_date(tables)
    if there < own:
        raise UsageError(
            f"LTOCOMPAT_FACTS: {path} has facts only up to {there}, but ltocompat's own facts go "
            f"up to {own}; unset the variable"
        )
    return tables


def _see_floors(path: str, tables: Tables) -> None:
    """See that each floor that rules ask for is there, as the number that it is.

    Raises:
        UsageError: it isn't so.
    """
    there = {row["name"]: row["value"] for row in tables["floors"]["floor"]}
    for row in own_table("floors")["floor"]:
        pattern = _pattern([row["value"]])
        if pattern and not re.search(pattern, there.get(row["name"], "")):
            raise UsageError(f"LTOCOMPAT_FACTS: {path} has no value for the minimum {row['name']}")


@functools.cache
def own_tables() -> Tables:
    """The tables that came with the program."""
    return {name: own_table(name) for name in table_names()}


def newest_date(tables: Mapping[str, Mapping[str, Sequence[Row]]]) -> str:
    """Return the day of the newest row: ``2026-11-25``."""
    arrays = (rows for arrays in tables.values() for rows in arrays.values())
    return max(str(row["date"]) for rows in arrays for row in rows)


@functools.cache
def tables_type() -> type[Struct]:
    """Return the type of the tables: one field per table, with one field per array."""
    fields: list[tuple[str, Any]] = []
    for name, arrays in own_tables().items():
        kinds = {
            array: _row_type(f"{name}_{array}".title().replace("_", ""), rows)
            for array, rows in arrays.items()
        }
        lists = [(a, Annotated[list[kind], Meta(min_length=1)]) for a, kind in kinds.items()]  # type: ignore[valid-type]
        fields.append((name, msgspec.defstruct(name.title().replace("_", ""), lists)))
    return msgspec.defstruct("Tables", fields)


def _row_type(name: str, rows: Sequence[Row]) -> type[Struct]:
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for key in dict.fromkeys(key for row in rows for key in row):
        values = [row[key] for row in rows if key in row]
        kind = _column_type(values)
        missing = len(values) < len(rows)
        fields.append((key, kind | UnsetType, UNSET) if missing else (key, kind))
    return msgspec.defstruct(name, fields, kw_only=True)


def _column_type(values: Sequence[Any]) -> Any:  # noqa: ANN401 - a type
    match values[0]:
        case bool() | dt.date():
            return type(values[0])
        case int():
            return Annotated[int, Meta(ge=0)]
        case list():
            kinds = {type(item) for value in values for item in value} or {str}
            return list[kinds.pop()] if len(kinds) == 1 else list  # type: ignore[misc]
        case dict():
            return dict[str, Any]
        case _:
            pattern = _pattern(values)
            return Annotated[str, Meta(pattern=pattern)] if pattern else str


def _pattern(values: Sequence[str]) -> str | None:
    """The first of the patterns that all values have."""
    return next((p for p in _PATTERNS if all(re.search(p, value) for value in values)), None)
