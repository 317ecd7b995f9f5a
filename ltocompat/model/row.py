"""Records as rows of tables, for data frames and Parquet."""

from __future__ import annotations

from collections.abc import Iterable

Plain = str | int | float | bool | None | list[str]
Row = dict[str, Plain]
"""A flat row: text, numbers, truth, None for what is not known, lists of text."""


def texts(values: Iterable[object]) -> list[str]:
    """Each value as text."""
    return list(map(str, values))


def text_or_none(value: object | None) -> str | None:
    """A value as text, where there is one."""
    return None if value is None else str(value)
