"""``lock=FILE``: a lock file of pip, uv, poetry, conda or pixi -> the libraries it pins."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError
from ltocompat.model.limits import Budget
from ltocompat.model.target import System, VersionSet
from ltocompat.model.watchdog import watched
from ltocompat.targets.lock_tables import (
    is_conda_environment,
    read_conda_lock,
    read_poetry_lock,
    read_pylock,
    read_uv_lock,
)
from ltocompat.targets.pins import LOOKED_FOR, Pin, libraries
from ltocompat.targets.requirements_txt import read_requirements
from ltocompat.targets.systems import MarkerEnvironment
from ltocompat.targets.text_file import naming, read_toml


def locked_libraries(
    path: str, system: System, python: str | None, budget: Budget
) -> dict[str, VersionSet[Release]]:
    """Read the versions of nvJitLink and NVRTC that a lock file pins, by their keys.

    Args:
        path: the file; ``.yml``, ``.yaml`` and ``pixi.lock`` are read as YAML, other ``.lock`` and
            ``.toml`` as TOML, any other as requirements.
        system: the system of the target, for the markers.
        python: the Python version of the target, ``3.11``; None for the version that runs here.
        budget: bounds for reading it.

    Raises:
        UsageError: the file can't be read, is not a lock file, or has none of the packages.
        Missing: it is YAML, and no reader of that is installed.
    """
    environment = MarkerEnvironment.of(system, python)
    name = os.path.basename(path)
    with naming(path), watched(budget):
        pins = locked_packages(path, environment, budget)
        found = libraries([pin for pin in pins if pin.part], name, budget)
    if not found:
        raise UsageError(
            f"{path} has no {LOOKED_FOR} for {environment}; write nvjitlink= and nvrtc= instead"
        )
    return found


def is_lock(tables: dict[str, Any]) -> bool:
    """Return whether a TOML file is a pylock.toml, a uv.lock or a poetry.lock."""
    return "lock-version" in tables or _is_poetry(tables) or {"version", "package"} <= tables.keys()


def _is_poetry(tables: dict[str, Any]) -> bool:
    metadata = tables.get("metadata")
    return isinstance(metadata, dict) and "lock-version" in metadata


def locked_packages(path: str, environment: MarkerEnvironment, budget: Budget) -> tuple[Pin, ...]:
    """Read every package that a lock file pins for an environment, each pin once.

    Raises:
        UsageError: the file can't be read, or is not a lock file.
        Missing: it is YAML, and no reader of that is installed.
    """
    return tuple(dict.fromkeys(_pins(path, environment, budget)))


def _pins(path: str, environment: MarkerEnvironment, budget: Budget) -> Iterable[Pin]:
    if path.endswith((".yml", ".yaml", "pixi.lock")) or is_conda_environment(path, budget):
        return read_conda_lock(path, environment, budget)
    if not path.endswith((".toml", ".lock")):
        return read_requirements(path, environment, budget)
    tables = read_toml(path, budget)
    if not is_lock(tables):
        raise UsageError(
            f"{path} is not a lock file that ltocompat reads; give a requirements.txt, "
            "pylock.toml, uv.lock, poetry.lock, conda-lock.yml, pixi.lock or environment.yml"
        )
    if _is_poetry(tables):
        return read_poetry_lock(tables, environment, budget)
    return (read_pylock if "lock-version" in tables else read_uv_lock)(tables, environment, budget)
