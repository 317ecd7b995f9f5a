"""What answers share: who a row is about, how numbers are said, how tables are cut."""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterable, Sequence
from typing import Any

from ltocompat.commands.survey.answer_values import Claim, Command, Table, Value
from ltocompat.commands.survey.survey_rows import Row, SurveyRows, machines_of
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
