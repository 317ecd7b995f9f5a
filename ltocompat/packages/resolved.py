"""Packages that an installer resolved: a report of pip, or a lock file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ltocompat.files.regular import read_regular
from ltocompat.model.errors import UsageError
from ltocompat.model.limits import Budget, Limits
from ltocompat.model.target import System
from ltocompat.packages.metadata import dependencies
from ltocompat.packages.values import Kind, Package, normalized
from ltocompat.targets.lockfiles import locked_packages
from ltocompat.targets.systems import MarkerEnvironment

_MOST_REPORT = 64 << 20  # bytes; pip's report of torch and what it needs has 0.4 MB


def resolved_packages(path: str, limits: Limits, system: System | None) -> tuple[Package, ...]:
    """Return the packages of a report of ``pip install --report``, or of a lock file for a system.

    Raises:
        UsageError: it can't be read, or is neither.
        Missing: it is YAML, and no YAML reader is installed.
    """
    budget = Budget(limits)
    if path.endswith(".json"):
        return tuple(_of_report(path, budget))
    environment = MarkerEnvironment.of(system or System(), None)
    return tuple(
        _package(path, budget, pin.package, pin.specifiers.removeprefix("=="))
        for pin in locked_packages(path, environment, budget)
        if pin.specifiers.startswith("==") and "," not in pin.specifiers
    )


def _of_report(path: str, budget: Budget) -> Iterator[Package]:
    try:
        report: Any = json.loads(read_regular(path, _MOST_REPORT))
        found = [
            (str(row["name"]), str(row["version"]), list(map(str, row.get("requires_dist", ()))))
            for row in (each["metadata"] for each in report["install"])
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{path} is not a pip report; make one with: pip install --dry-run --report {path} ..."
        ) from error
    yield from (_package(path, budget, *each) for each in found)


def _package(
    path: str, budget: Budget, name: str, version: str, requires: Sequence[str] | None = None
) -> Package:
    problems: list[str] = []
    return Package(
        kind=Kind.INSTALLED,
        path=f"{path}: {name}",
        name=normalized(name),
        version=version,
        requires=tuple(dependencies(requires or (), problems, budget)),
        problems=tuple(problems),
        only_named=requires is None,
    )
