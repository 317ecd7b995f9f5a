"""The program as it was before a release of CUDA: without the rows of that release and newer ones.

The seam is ``facts.table``: all that is known of a table is derived from the one dictionary that
it keeps, by functions that keep what they found. Floors stay: rules need each of them.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ltocompat import facts
from ltocompat.model.arch import Release

# Tables whose rows are of a release, of a driver or of an architecture.
_TABLES = ("ltoir", "nvjitlink", "nvlink", "ptx", "toolkit_pins")
_ALL = (*_TABLES, "drivers", "compat", "sm", "gpus")
_RELEASE_OF_ROW = ("cuda", "toolkit", "package")
Row = dict[str, Any]


@contextmanager
def as_of(hidden: Release) -> Iterator[None]:
    """Take a release and all newer ones out of the tables for as long as the context lasts."""
    whole = {name: copy.deepcopy(facts.table(name)) for name in _ALL}
    try:
        _cut(hidden)
        _forget()
        yield
    finally:
        for name, rows in whole.items():
            facts.table(name).update(rows)
        _forget()


def _forget() -> None:
    """Empty the caches of the program, but for the tables themselves."""
    modules = [module for name, module in sys.modules.items() if name.startswith("ltocompat")]
    for module in modules:
        classes = [each for each in vars(module).values() if isinstance(each, type)]
        for owner in (module, *classes):
            for kept in vars(owner).values():
                if hasattr(kept, "cache_clear") and kept is not facts.table:
                    kept.cache_clear()


def _cut(hidden: Release) -> None:
    for name in _TABLES:
        for key, rows in facts.table(name).items():
            facts.table(name)[key] = [row for row in rows if _release(row) < hidden]
    _cut_drivers(facts.table("drivers"), hidden)
    branches = {row["branch"] for row in facts.table("drivers")["branch"]}
    _cut_compat(facts.table("compat"), hidden, branches)
    _cut_architectures(hidden, branches)


def _release(row: Row) -> Release:
    """The release that a row is of; what names none is older than all."""
    text = next((str(row[key]) for key in _RELEASE_OF_ROW if key in row), "0.0")
    return Release.parse(text)


def _cut_drivers(drivers: Row, hidden: Release) -> None:
    for key in ("toolkit", "branch"):
        drivers[key] = [row for row in drivers[key] if _release(row) < hidden]
    branches = {row["branch"] for row in drivers["branch"]}
    drivers["release"] = [
        row for row in drivers["release"] if int(row["version"].split(".")[0]) in branches
    ]
    drivers["major"] = [row for row in drivers["major"] if Release(row["major"], 0) < hidden]


def _cut_compat(compat: Row, hidden: Release, branches: set[int]) -> None:
    oldest = compat["package"][-1:]  # the table begins with 12.2
    compat["package"] = [row for row in compat["package"] if _release(row) < hidden] or oldest
    for row in compat["package"]:
        for use in ("usable", "native", "none"):
            row[use] = [branch for branch in row[use] if branch in branches]


def _cut_architectures(hidden: Release, branches: set[int]) -> None:
    """Hide architectures to come, and that known ones were dropped later."""
    rows = facts.table("sm")["sm"]
    rows[:] = [row for row in rows if Release.parse(row["first_toolkit"]) < hidden]
    newest = max(_release(row) for row in facts.table("drivers")["toolkit"])
    for row in rows:
        if "last_toolkit" in row and Release.parse(row["last_toolkit"]) >= newest:
            del row["last_toolkit"]
        if row.get("last_branch", 0) >= max(branches):
            del row["last_branch"]
    numbers = {row["number"] for row in rows}
    gpus = facts.table("gpus")
    gpus["gpu"] = [row for row in gpus["gpu"] if row["sm"] in numbers]
