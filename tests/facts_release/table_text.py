"""Rows written into the text of a table, so that its comments and its order stay.

Tables have two shapes: an array with one inline table a line, and blocks under ``[[name]]``.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


class Tables:
    """The TOML tables of a checkout, changed in memory and written together at the end."""

    def __init__(self, *folders: Path) -> None:
        self._paths = {path.stem: path for folder in folders for path in folder.glob("*.toml")}
        self._texts: dict[str, str] = {}

    def text(self, name: str) -> str:
        """The text of ``name.toml`` as it is now."""
        return self._texts.get(name) or self._paths[name].read_text("utf-8")

    def rows(self, name: str, array: str) -> list[dict[str, Any]]:
        """The rows of an array of ``name.toml`` as they are now."""
        found: list[dict[str, Any]] = tomllib.loads(self.text(name))[array]
        return found

    def insert(self, name: str, array: str, row: Row, after: Callable[[Row], bool]) -> None:
        """Put a row behind the last one that ``after`` is true of; else in front of all."""
        in_blocks = f"[[{array}]]" in self.text(name)
        put = insert_block if in_blocks else insert_line
        self._texts[name] = put(self.text(name), array, row, after)

    def put(self, name: str, array: str, row: Row, keys: str, after: Callable[[Row], bool]) -> None:
        """Insert a row, or write anew the one with the same keys where it says something else.

        Args:
            name: of the table.
            array: in it.
            row: with today's date, which one that says the same does not take.
            keys: columns that name a row, separated by blanks.
            after: as ``insert`` takes it.
        """
        for known in self.rows(name, array):
            if all(known.get(key) == row.get(key) for key in keys.split()):
                if {**known, "date": None} != {**row, "date": None}:
                    self.change(name, array, known, row)
                return
        self.insert(name, array, row, after)

    def change(self, name: str, array: str, before: Row, after: Row) -> None:
        """Write a row anew where it stands."""
        in_blocks = f"[[{array}]]" in self.text(name)
        lines = ("\n".join(_pairs(row)) if in_blocks else _inline(row) for row in (before, after))
        old, new = lines
        self.substitute(name, re.escape(old), new)

    def substitute(self, name: str, pattern: str, text: str) -> None:
        """Put ``text`` wherever the pattern matches.

        Raises:
            ValueError: it matches nowhere.
        """
        changed, count = re.subn(pattern, lambda _: text, self.text(name))
        if not count:
            raise ValueError(f"{name}.toml has no {pattern!r}; write {text!r} there by hand")
        self._texts[name] = changed

    def save(self) -> None:
        """Write what was changed."""
        for name, text in self._texts.items():
            self._paths[name].write_text(text, "utf-8")


def insert_line(text: str, array: str, row: Row, after: Callable[[Row], bool]) -> str:
    """Put a row into ``array = [ ... ]``."""
    head, opening, tail = text.partition(f"\n{array} = [\n")
    lines = tail[: re.search(r"^\]", tail, re.MULTILINE).start()].splitlines(keepends=True)  # type: ignore[union-attr]
    rows = [tomllib.loads(f"row = {line.strip().rstrip(',')}")["row"] for line in lines]
    place = sum(map(len, lines[: _place(rows, after)]))
    return f"{head}{opening}{tail[:place]}  {_inline(row)},\n{tail[place:]}"


def insert_block(text: str, array: str, row: Row, after: Callable[[Row], bool]) -> str:
    """Put a block ``[[array]]`` among the others."""
    head, *blocks = re.split(rf"^(?=\[\[{array}\]\])", text, flags=re.MULTILINE)
    place = _place([tomllib.loads(block)[array][0] for block in blocks], after)
    new = "\n".join([f"[[{array}]]", *_pairs(row)])
    parts = [head, *blocks[:place], new, *blocks[place:]]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _place(rows: list[Row], after: Callable[[Row], bool]) -> int:
    return max((number for number, row in enumerate(rows, 1) if after(row)), default=0)


def _inline(row: Row) -> str:
    return f"{{ {', '.join(_pairs(row))} }}"


def _pairs(row: Row) -> list[str]:
    return [f"{key} = {_value(value)}" for key, value in row.items()]


def _value(value: object) -> str:
    """JSON's strings, numbers, truth values and lists are TOML's too; a date is bare."""
    if isinstance(value, dt.date):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False)
