"""The newest release of a project in a survey's dataset that asks less than some bound."""

from __future__ import annotations

import pkgutil
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from ltocompat.commands.survey.dataset import Dataset
from ltocompat.commands.survey.report import opened
from ltocompat.model.arch import Release, version_numbers
from ltocompat.model.generic import grouped
from ltocompat.model.location import Location
from ltocompat.model.requirement import (
    NEXT,
    GpuSupport,
    LinkerFloor,
    ModuleRequirement,
    Required,
    RouteFloor,
)
from ltocompat.model.target import DriverVersion, System
from ltocompat.model.verdict import Coverage, Verdict
from ltocompat.packages.values import Package

_QUERIES = tomllib.loads((pkgutil.get_data(__name__, "releases.toml") or b"").decode())
_OTHERS = {"x86_64": "^win|aarch64", "aarch64": "^win|x86_64|^linux-64"}  # tags, conda's folders


class Releases:
    """The releases in a dataset.

    Args:
        folder: of the dataset.

    Raises:
        UnreadableInput: there is none, or it can't be read.
        Missing: a package that surveys need is not installed.
    """

    def __init__(self, folder: str) -> None:
        self._dataset = Dataset(folder)

    def newest(
        self,
        project: str,
        component: str,
        archs: Sequence[str],
        below: Sequence[int] | None,
        system: System,
    ) -> str:
        """Return the newest release of a project with code for the GPUs and a lower minimum.

        Args:
            project: its name.
            component: ``driver`` or ``nvJitLink``.
            archs: all of these GPU architectures; none: any architecture.
            below: the bound that the minimums must be below; None: any minimum.
            system: the system on which it runs: Linux on that processor.

        Returns:
            Its version; empty if the dataset has none.

        Raises:
            UnreadableInput: the dataset can't be read.
        """
        asked = {
            "project": canonicalize_name(project),
            "component": component,
            "archs": list(archs),
            "below": None if below is None else list(below),
            "others": _OTHERS[system.machine],
        }
        with opened(self._dataset) as database:
            rows = database.execute(_QUERIES["newest"], asked).fetchall()
        found = []
        for (version,) in rows:
            with suppress(InvalidVersion):
                found.append(Version(version))
        return str(max(found, default=""))

    def needs(self, package: Package, system: System) -> Required | None:
        """Return the needs of all files of a release for Linux; None if the dataset has none.

        Args:
            package: its name and version.
            system: the system on which it runs: Linux on that processor.

        Raises:
            UnreadableInput: the dataset can't be read.
        """
        known = {
            "project": canonicalize_name(package.name),
            "version": package.version,
            "others": _OTHERS[system.machine],
        }
        with opened(self._dataset) as database:
            rows = database.execute(_QUERIES["needs"], known).fetchall()
        if not rows:
            return None
        asked = tuple(
            ModuleRequirement(part, limit, rule, subject, "", "", modules, Location.parse(example))
            for part, _, _, _, limit, rule, subject, modules, example, _ in rows
            if rule is not None
        )
        floors = [
            (part, arch, how, least) for part, arch, how, least, _, rule, *_ in rows if rule is None
        ]
        on = grouped((arch, row) for part, arch, *row in floors if part == "driver")
        linkers = [Release.parse(least) for _, arch, _, least in floors if arch is None and least]
        linker = max(linkers, default=None)
        rules = _rules(asked, "nvJitLink", linker)
        floor = LinkerFloor(linker, None, 0, tried=False, rules=rules) if linker else None
        services = tuple(_service(arch, on[arch], asked) for arch in on if arch != NEXT)
        return Required(
            path=rows[0][-1], modules=int(bool(on)), nvjitlink=floor, services=services, asked=asked
        )


def _rules(asked: Sequence[ModuleRequirement], component: str, least: object) -> tuple[str, ...]:
    """The rules that ask for that version of a part of the target."""
    named = (each for each in asked if each.component == component)
    return tuple({each.rule: None for each in named if each.constraint == f">= {least}"})


def _service(arch: str, rows: Sequence[Any], asked: Sequence[ModuleRequirement]) -> GpuSupport:
    """What the files of a release ask on one GPU architecture."""
    served = [(how, least) for how, least in rows if how != "none"]
    leasts = [DriverVersion(version_numbers(least)) for _, least in served if least]
    driver = max(leasts, default=None) if len(leasts) == len(served) else None
    rules = _rules(asked, "driver", driver)
    floor = RouteFloor(None, Coverage(0), driver, None, None, None, Verdict.OK, rules)
    how = served[0][0] if served else "none"
    return GpuSupport(int(arch.removeprefix("sm_")), "", how, 0, 0, 0, 0, driver, routes=(floor,))
