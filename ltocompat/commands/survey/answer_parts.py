"""Parts that answers share: who a row is about, how numbers are said, how tables are cut."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from packaging.version import InvalidVersion, Version

from ltocompat.commands.survey.answer_values import Claim, Command, Table, Value
from ltocompat.commands.survey.dataset import Dataset
from ltocompat.facts.drivers import driver_branches

MOST_ROWS = 2_000
"""Rows of a table; a page with more is slow to open."""

# Rules on what metadata admit; their findings hold on any target.
NAMED = ("project", "version", "platform")


def named(row: Row) -> tuple[Value, ...]:
    """Project, version and platform."""
    return (row["project"] or row["filename"], row["version"], machines_of(row))


def table(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Table:
    """A table of these rows, cut where a page with more would be slow to open."""
    kept = tuple(rows[:MOST_ROWS])
    return Table(tuple(columns), kept, len(rows) - len(kept))


def claim(text: str, of_rows: Iterable[object], counted: Container[object]) -> Claim:
    """A sentence that counts some of the rows.

    Args:
        text: the sentence.
        of_rows: what each row of the table is of.
        counted: those that the sentence counts.
    """
    return Claim(text, tuple(place for place, row in enumerate(of_rows) if row in counted))


def check_again(row: Row, target: str) -> Command:
    """The line that checks a package on a target again."""
    words = ("ltocompat", "check", row["filename"], "--deploy-target", target)
    return Command(shlex.join(words))


def branch_of(row: Row) -> str:
    """The driver branch of a verdict; the target, where it names no driver by number."""
    number = str(row["driver"] or "").partition(".")[0]
    if not number.isascii() or not number.isdigit():
        return str(row["driver"] or row["target"])
    # Those for Windows have numbers above that of their branch: 537.13 is one of 535.
    below = [branch for branch in driver_branches() if branch <= int(number)]
    return str(max(below, default=int(number)))


def gpu_of(row: Row) -> str:
    """The GPU of a verdict."""
    return str(row["gpu"])


def by_number(text: str) -> tuple[int, str]:
    """Numbers by their value, then words."""
    return (int(text) if text.isascii() and text.isdigit() else 1 << 30, text)


def release_numbers(text: str) -> tuple[int, ...]:
    """(12, 4) of ``12.4``."""
    return tuple(int(number) for number in text.split("."))


def arch_numbers(archs: Iterable[str]) -> str:
    """``80 90a`` of sm_80 and sm_90a."""
    return " ".join(arch.partition("_")[2] for arch in archs)


def of_all(number: int, total: int, noun: str) -> str:
    """``3 of 12 packages (25 %)``."""
    share = f" ({number / total:.0%})" if total else ""
    return f"{number:,} of {total:,} {noun}s{share}"


def of_newest(number: int, survey: SurveyRows) -> str:
    """``3 of 12 packages (25 %)``, of the newest of each project and platform."""
    return of_all(number, len(survey.newest), "package")


def decimal_size(number: int) -> str:
    """Bytes in decimal units, as indexes show them."""
    value = float(number)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:,.0f} {unit}"
        value /= 1000
    return f"{value:,.1f} GB"


Row = Mapping[str, Any]
"""A row of a table, by the names of its columns."""


class SurveyRows:
    """The rows of a dataset, read when they are asked for.

    Args:
        dataset: where they are.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def rows(self, table: str, *names: str) -> Sequence[Row]:
        """The rows of a table with these columns."""
        found: list[Row] = self._dataset.table(table, [*names]).to_pylist()
        return found

    @cached_property
    def distributions(self) -> Sequence[Row]:
        """All of them, by project and version."""
        names = (
            *("sha256", "filename", "project", "version", "platforms", "upload_time", "status"),
            *("worst", "size", "files", "sass", "ptx", "ltoir", "device_code", "saved"),
            *("bytes_fetched", "cpu_seconds", "peak_memory", "yanked"),
        )
        return sorted(self.rows("distributions", *names), key=_order)

    @cached_property
    def with_code(self) -> Mapping[str, Row]:
        """SHA-256 -> those that were read and have device code."""
        return {
            row["sha256"]: row
            for row in self.distributions
            if row["status"] == "read" and row["files"]
        }

    @cached_property
    def newest(self) -> Mapping[str, Row]:
        """SHA-256 -> of those with device code, the newest of each project and platform."""
        found: dict[tuple[str, str], Row] = {}
        for row in self.with_code.values():
            found[project_of(row), machines_of(row)] = row
        return {row["sha256"]: row for row in found.values()}

    @cached_property
    def by_project(self) -> Mapping[str, Sequence[Row]]:
        """Project -> its packages with device code, oldest version first."""
        found: defaultdict[str, list[Row]] = defaultdict(list)
        for row in self.with_code.values():
            found[project_of(row)].append(row)
        return found


def machines_of(row: Row) -> str:
    """``x86_64`` of ``manylinux_2_28_x86_64``: releases of one project differ in the rest."""
    return ", ".join(sorted({_machine(platform) for platform in row["platforms"]}))


def _machine(platform: str) -> str:
    if "linux" in platform:
        for machine in ("x86_64", "aarch64"):
            if platform.endswith(machine):
                return machine
    return platform


def project_of(row: Row) -> str:
    """The project of a distribution; its file name where nothing names one."""
    return str(row["project"] or row["filename"])


def _order(row: Row) -> tuple[str, Version, str]:
    try:
        version = Version(row["version"] or "0")
    except InvalidVersion:
        version = Version("0")
    return project_of(row), version, row["filename"]
