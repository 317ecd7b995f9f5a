"""The rows of a dataset as its report asks for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from packaging.version import InvalidVersion, Version

from ltocompat.commands.survey.dataset import Dataset

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
        found: list[Row] = self._dataset.table(table, names).to_pylist()
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
