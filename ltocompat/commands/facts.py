"""The tables of facts, whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from ltocompat.commands.options import FactsOptions
from ltocompat.facts import table, table_names


class FactsTable(Struct, frozen=True):
    """One table.

    Attributes:
        name: ``drivers``.
        lists: its rows by list.
    """

    name: str
    lists: dict[str, list[dict[str, Any]]]


def run(_: FactsOptions) -> Iterator[FactsTable]:
    """Yield every table, by name.

    Raises:
        UsageError: the document at ``LTOCOMPAT_FACTS`` can't be used.
    """
    for name in table_names():
        yield FactsTable(name, table(name))
