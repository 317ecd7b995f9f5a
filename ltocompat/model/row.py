"""Records as rows of tables, for data frames and Parquet."""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec import Struct

Plain = str | int | float | bool | None | list[str]
Row = dict[str, Plain]
"""A flat row: text, numbers, truth, None for what is not known, lists of text."""

WHERE = "path=place.path inside=place.inside place"
"""The columns that say where something lies."""


class Tabular(Struct, frozen=True):
    """A value that is a row of a table.

    Its columns are its fields. A class with others lists them in ``row_columns``: ``size`` is the
    attribute of that name, ``ptx_isa=needs.ptx_isa`` another one, or one of a part.
    """

    row_columns: ClassVar[str] = ""

    def to_row(self) -> Row:
        """A row of a table: what is no number and no truth is text, several are a list of text."""
        return {name: _plain(self, path) for name, path in columns(type(self))}


@functools.cache
def columns(kind: type[Tabular]) -> tuple[tuple[str, Sequence[str]], ...]:
    """The names of a class's columns, and the way to the value of each."""
    names = kind.row_columns.split() or kind.__struct_fields__
    pairs = (name.partition("=") for name in names)
    return tuple((name, (path or name).split(".")) for name, _, path in pairs)


def _plain(value: Any, path: Sequence[str]) -> Plain:  # noqa: ANN401 - whatever a record has
    for name in path:
        value = None if value is None else getattr(value, name)
    if isinstance(value, tuple):
        return [str(part) for part in value]
    numeric = isinstance(value, int | float) and not isinstance(value, enum.Enum)
    return value if value is None or numeric else str(value)


def text_or_none(value: object | None) -> str | None:
    """A value as text, where there is one."""
    return None if value is None else str(value)
