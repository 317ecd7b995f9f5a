"""The tables of a survey's dataset: one row type each.

The types say what a column may hold, so that whatever is read back (a kept answer, a Parquet file)
is checked against them; the Arrow schemas are made of them. ``tables.toml`` is the data dictionary,
with the meaning of every column.
"""

from __future__ import annotations

import functools
import pkgutil
import tomllib
import typing
from datetime import datetime
from types import NoneType
from typing import Annotated, Any

from msgspec import Struct

from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import Count

# It rises if a column changes its meaning or is removed, not for a new column.
SCHEMA_VERSION = 1

# Columns that two runs over the same packages may fill differently.
MEASURED = ("bytes_fetched", "requests", "seconds", "cpu_seconds", "peak_memory", "surveyed")


class Row(Struct, frozen=True, kw_only=True, gc=False):
    """Columns of every row of every table."""

    sha256: str | None
    facts: str


class DistributionRow(Row, frozen=True, kw_only=True):
    """One distribution: a wheel, a conda package or another file that was surveyed.

    Files with the same bytes are one distribution: the same file in two places is one row.
    """

    filename: str
    source: str
    index: str | None
    project: str | None
    version: str | None
    tags: tuple[str, ...]
    platforms: tuple[str, ...]
    requires_python: str | None
    requires_dist: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    upload_time: datetime | None
    yanked: bool
    yanked_reason: str | None
    size: Count | None
    status: str
    looked_at: str | None
    files: Count = 0
    modules: Count = 0
    images: Count = 0
    skipped: Count = 0
    sass: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    ltoir: tuple[str, ...] = ()
    device_code: Count = 0
    saved: Count = 0
    worst: str | None = None
    bytes_fetched: Count
    requests: Count
    seconds: float
    cpu_seconds: float
    peak_memory: Count
    surveyed: datetime


class ImageRow(Row, frozen=True, kw_only=True):
    """A group of equal images in one file of a distribution."""

    file: str
    kind: str
    arch: str | None
    made_by: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    ptx_isa: Annotated[str | None, From("needs.ptx_isa")] = None
    compression: str = "none"
    scrambled: bool = False
    relocatable: bool | None = None
    debug: bool | None = None
    registered: bool | None = None
    images: Count
    stored: Count
    size: Count
    example: str


class NeedRow(Row, frozen=True, kw_only=True):
    """One requirement that a distribution has on every target, as `ltocompat require` shows it."""

    what: str
    component: str
    arch: str | None = None
    route: str | None = None
    served_by: str | None = None
    least: str | None = None
    constraint: str | None = None
    rule: str | None = None
    subject: str | None = None
    consequence: str | None = None
    evidence: str | None = None
    how: str | None = None
    modules: Count = 0
    example: str | None = None


class VerdictRow(Row, frozen=True, kw_only=True):
    """The verdict of `ltocompat check` on a distribution for one target, GPU and route."""

    target: Annotated[str, From("target.name")]
    driver: str | None
    gpu: str | None
    arch: str | None
    route: str | None
    verdict: str
    modules_with_verdict: Annotated[Count, From("extent.modules")]
    modules_judged: Annotated[Count, From("extent.judged")]
    sass: Annotated[Count, From("coverage.sass")]
    ptx: Annotated[Count, From("coverage.ptx")]
    link: Annotated[Count, From("coverage.link")]
    none: Annotated[Count, From("coverage.none")]
    not_judged: tuple[str, ...]
    rules: tuple[str, ...]


class FindingRow(Row, frozen=True, kw_only=True):
    """One finding of a rule, for one target, GPU and route."""

    target: str
    gpu: str | None
    route: str | None
    rule: str
    verdict: str
    level: str
    headline: str
    message: str
    remedy: str
    evidence: str
    modules: Annotated[Count, From("module_count")]
    example: str | None


class WeightRow(Row, frozen=True, kw_only=True):
    """Unpacked bytes of a package's device code, as `ltocompat inspect --weigh` counts them."""

    what: str
    kind: str | None = None
    arch: str | None = None
    library: str | None = None
    machine: str | None = None
    waste: str | None = None
    images: Count = 0
    stored: Count
    saved: Count = 0
    estimated: bool = False
    text: str | None = None
    fix: str | None = None


class ErrorRow(Row, frozen=True, kw_only=True):
    """A project, distribution or part of a distribution that could not be read."""

    source: str
    filename: str | None
    project: str | None
    step: str
    reason: str
    passing: bool
    place: str | None = None
    limit: str | None = None


class Column(typing.NamedTuple):
    """One column of a table.

    Attributes:
        name: its name.
        type: the Python type of its values, without ``None``.
        nullable: True if it may be null.
        meaning: one or two sentences.
        words: its known values; more may be added.
    """

    name: str
    type: Any
    nullable: bool
    meaning: str
    words: tuple[str, ...]


@functools.cache
def columns(table: str) -> tuple[Column, ...]:
    """Return the columns of a table in order."""
    said = tomllib.loads((pkgutil.get_data(__name__, "tables.toml") or b"").decode())
    meanings = said["any"] | said[table]
    found = []
    for name, hint in typing.get_type_hints(TABLES[table]).items():
        nullable = NoneType in typing.get_args(hint)
        meaning, *words = [meanings[name]] if isinstance(meanings[name], str) else meanings[name]
        kind = typing.get_args(hint)[0] if nullable else hint
        found.append(Column(name, kind, nullable, meaning, tuple(words)))
    return tuple(found)


class Surveyed(Struct, frozen=True, kw_only=True, gc=False):
    """All rows of one distribution, or of one failure; they enter the dataset together."""

    distributions: tuple[DistributionRow, ...] = ()
    images: tuple[ImageRow, ...] = ()
    needs: tuple[NeedRow, ...] = ()
    verdicts: tuple[VerdictRow, ...] = ()
    findings: tuple[FindingRow, ...] = ()
    weight: tuple[WeightRow, ...] = ()
    errors: tuple[ErrorRow, ...] = ()

    @property
    def passing(self) -> bool:
        """Return whether it failed and may succeed next time, or has no distribution."""
        return not self.distributions or any(error.passing for error in self.errors)


# Names of the tables and their folders -> the type of a row.
TABLES: dict[str, type[Row]] = {
    name: typing.get_args(hint)[0] for name, hint in typing.get_type_hints(Surveyed).items()
}
