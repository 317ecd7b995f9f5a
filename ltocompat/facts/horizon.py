"""The position of a number in a table: a row, before the first, between two, or beyond the last.

What follows from that is the same for every table and every key of a deploy target. A number
between two rows, or before the first, is judged by its order; code of such a version, which nobody
makes, fails on what is older than the row below it, and is unknown elsewhere. Beyond the last row
NVIDIA's documents decide: a later minor of a linker takes what the ones before it took (minor-
version compatibility), a later branch of a driver runs what the ones before it ran (backward
compatibility). What a new major of a linker may have dropped is unknown, and so is anything newer
than the tables on anything newer than the tables.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import Generic, TypeVar

from msgspec import Struct

from ltocompat.facts import nvjitlink_minors, table
from ltocompat.facts.drivers import branch_of, driver_branches
from ltocompat.model.arch import Release
from ltocompat.model.target import DriverVersion

Number = TypeVar("Number", Release, int, tuple[int, ...])


class TablesEnd(Struct, frozen=True):
    """The end of the tables.

    Attributes:
        cuda: the newest CUDA release in them.
        driver: the newest driver branch.
        date: the day of the newest row about either.
    """

    cuda: Release
    driver: int
    date: str

    def __str__(self) -> str:
        return f"CUDA {self.cuda}, driver R{self.driver}, of {self.date}"


@functools.cache
def tables_end() -> TablesEnd:
    """Return the end of the tables behind the answers."""
    tables = (table("drivers"), table("ltoir"))
    days = (str(row["date"]) for rows in tables for array in rows.values() for row in array)
    newest = max(Release.parse(row["cuda"]) for row in table("ltoir")["release"])
    return TablesEnd(newest, driver_branches()[-1], max(days))


class Position(Struct, Generic[Number], frozen=True):
    """The rows around a number; both are the same row if the number is a row.

    Attributes:
        below: the last row that is not greater; None before the table.
        above: the first row that is not less; None after the table.
    """

    below: Number | None
    above: Number | None

    @property
    def known(self) -> bool:
        """Return whether the number is a row."""
        return self.below == self.above

    @property
    def beyond(self) -> bool:
        """Return whether the number is greater than every row."""
        return self.above is None


def position(number: Number, rows: Collection[Number]) -> Position[Number]:
    """Find the position of a number among the rows of a table."""
    below = max((row for row in rows if row <= number), default=None)
    return Position(below, min((row for row in rows if row >= number), default=None))


@functools.lru_cache(maxsize=256)
def of_linker(release: Release) -> Position[Release]:
    """Find the position of a release of nvJitLink or nvlink."""
    return position(release, nvjitlink_minors())


def is_new_major(release: Release) -> bool:
    """Return whether a linker has a major newer than the tables, and may refuse older code."""
    return release.major > nvjitlink_minors()[-1].major


@functools.lru_cache(maxsize=256)
def of_driver(driver: DriverVersion) -> Position[int]:
    """Find the position of a driver by its branch."""
    return position(branch_of(driver), driver_branches())
