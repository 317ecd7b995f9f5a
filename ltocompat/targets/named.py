"""Named targets: ``[targets.NAME]`` of a TOML file, ``[tool.ltocompat.targets]`` of a pyproject."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ltocompat.model.errors import UsageError, did_you_mean
from ltocompat.model.target import Target
from ltocompat.targets.building import ValueOrigin, build
from ltocompat.targets.inline import check, known_key, split
from ltocompat.targets.own_tables import OWN, PYPROJECT, own_tables
from ltocompat.targets.text_file import read_toml


def targets_of_file(path: str, shown: str, name: str | None) -> tuple[Target, ...]:
    """The targets of a TOML file, or the one that is asked for.

    Args:
        path: the file.
        shown: the file as the user wrote it.
        name: of one target; None for all.

    Raises:
        UsageError: the file has no such target, or one that means nothing.
    """
    tables = _targets(path)
    if not tables:
        _explain_missing(path, shown)
    if name is None:
        return tuple(_target(path, key, tables[key]) for key in tables)
    if name not in tables:
        raise UsageError(
            f"{shown} has no target {name}{did_you_mean(name, tables)}; it has {', '.join(tables)}"
        )
    return (_target(path, name, tables[name]),)


def target_of_project(name: str, where: str) -> Target | None:
    """The target of this name that the nearest project defines; None where none does.

    Raises:
        UsageError: a file on the way can't be read, or its target means nothing.
    """
    path, tables = _project(where)
    return _target(path, name, tables[name]) if name in tables else None


def names_of_project(where: str) -> tuple[str, tuple[str, ...]]:
    """The file that ``target_of_project`` looks in, by its base name, and the targets in it."""
    path, tables = _project(where)
    return os.path.basename(path), tuple(tables)


def _project(where: str) -> tuple[str, dict[str, Any]]:
    for folder in _parents(where):
        for file in (OWN, PYPROJECT):
            path = os.path.join(folder, file)
            if os.path.isfile(path) and (tables := _targets(path)):
                return path, tables
    return "", {}


def _parents(where: str) -> Iterator[str]:
    folder = os.path.abspath(where)
    yield folder
    while (parent := os.path.dirname(folder)) != folder:
        folder = parent
        yield folder


def _targets(path: str) -> dict[str, Any]:
    found = (own_tables(path).tables or {}).get("targets", {})
    if not isinstance(found, dict):
        raise UsageError(f"{path}: targets is not a table; write [targets.NAME]")
    return found


def _explain_missing(path: str, shown: str) -> None:
    from ltocompat.targets.lockfiles import is_lock

    if is_lock(read_toml(path)):
        raise UsageError(f"{shown} is a lock file; write --deploy-target lock={shown}")
    header = own_tables(path).header("targets.NAME")
    raise UsageError(f"{shown} names no target; write a table {header} with driver = ...")


def _target(path: str, name: str, value: object) -> Target:
    origin = ValueOrigin(os.path.basename(path), os.path.dirname(path))
    try:
        return build(name, _keys(value), origin)
    except UsageError as error:
        raise UsageError(f"{origin.source}: target {name}: {error}") from error


def _keys(value: object) -> dict[str, str]:
    """Keys as in the inline form, of a table or of a text in that form."""
    if isinstance(value, str):
        return split(value)
    if not isinstance(value, dict):
        raise UsageError(f"{str(value)[:60]} is not a table; write driver = ... in [targets.NAME]")
    keys: dict[str, str] = {}
    for written, given in value.items():
        key = known_key(written)
        if key in keys:
            raise UsageError(f"{key} is given twice, once as {written}; give it once")
        keys[key] = _value(key, given)
    for key, text in keys.items():
        check(key, text)
    return keys


def _value(key: str, value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if key == "gpu" and isinstance(value, list) and all(isinstance(gpu, str) for gpu in value):
        return "+".join(value)
    # A number with a point is none: 12.10 would be read as 12.1.
    raise UsageError(f'{key} = {str(value)[:60]} is not a text; write it in quotes, {key} = "..."')
