"""``lock=FILE``: requirements.txt, pylock.toml or uv.lock -> the libraries that it pins."""

from __future__ import annotations

import os
from typing import Any

from ltocompat.model.arch import Release
from ltocompat.model.errors import UsageError
from ltocompat.model.target import System, VersionSet
from ltocompat.targets.pins import LOOKED_FOR, Pin, libraries
from ltocompat.targets.requirements_txt import read_requirements
from ltocompat.targets.systems import MarkerEnvironment
from ltocompat.targets.text_file import read_toml
from ltocompat.targets.toml_locks import read_pylock, read_uv_lock


def locked_libraries(
    path: str, system: System, python: str | None
) -> dict[str, VersionSet[Release]]:
    """What a lock file pins of nvJitLink and NVRTC, by their keys.

    Args:
        path: the file; ``.toml`` and ``.lock`` are read as TOML, any other as requirements.
        system: of the target, for the markers.
        python: of the target, ``3.11``; None for the version that runs here.

    Raises:
        UsageError: the file can't be read, is no lock file, or has none of the packages.
    """
    environment = MarkerEnvironment.of(system, python)
    name = os.path.basename(path)
    try:
        pins = _pins(path, environment)
    except UsageError as error:
        raise error if path in str(error) else UsageError(f"{path}: {error}") from error
    found = libraries(pins, name)
    if not found:
        raise UsageError(
            f"{path} has no {LOOKED_FOR} for {environment}; write nvjitlink= and nvrtc= instead"
        )
    return found


def is_lock(tables: dict[str, Any]) -> bool:
    """Whether a TOML file is a pylock.toml or a uv.lock."""
    return "lock-version" in tables or ("version" in tables and "package" in tables)


def _pins(path: str, environment: MarkerEnvironment) -> tuple[Pin, ...]:
    if not path.endswith((".toml", ".lock")):
        return read_requirements(path, environment)
    tables = read_toml(path)
    if not is_lock(tables) or "metadata" in tables:
        # poetry.lock has [metadata].
        raise UsageError(
            f"{path} is not a lock file that is read here; give a requirements.txt, a pylock.toml "
            "or a uv.lock"
        )
    return (read_pylock if "lock-version" in tables else read_uv_lock)(tables, environment)
