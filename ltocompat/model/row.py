"""Records as rows of tables, for data frames and Parquet."""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec import Struct

Plain = str | int | float | bool | None | list[str]
# A flat row of texts, numbers, booleans and lists of texts; None if unknown.
Row = dict[str, Plain]

# The columns with a location.
WHERE = "path=place.path inside=place.inside place"


class Tabular(Struct, frozen=True, repr_omit_defaults=True):
    """A value that is a row of a table; its columns are its fields.

    A class with other columns lists them in ``row_columns``: ``size`` is the attribute of that
    name; ``ptx_isa=needs.ptx_isa`` names another attribute.
    """

    row_columns: ClassVar[str] = ""

    def to_row(self) -> Row:
        """Return a row of a table: numbers and booleans unchanged, other values as text."""
        return {name: _plain(self, path) for name, path in columns(type(self))}


@functools.cache
def columns(kind: type[Tabular]) -> tuple[tuple[str, Sequence[str]], ...]:
    """Return the names of a class's columns, each with the path of its attribute."""
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
    """Return a value as text; None stays None."""
    return None if value is None else str(value)
