"""The values of ``--deploy-target`` -> targets: inline, a TOML file, or a name."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ltocompat.model.errors import LimitExceeded, UsageError, did_you_mean, restated
from ltocompat.model.limits import Budget
from ltocompat.model.location import folders_around
from ltocompat.model.target import Target
from ltocompat.targets.building import ValueOrigin, build
from ltocompat.targets.inline import (
    EXAMPLE,
    FILE_KEYS,
    check,
    is_inline,
    is_word,
    known_key,
    split,
    with_keys,
)
from ltocompat.targets.text_file import OWN, PYPROJECT, own_tables, read_toml
from ltocompat.targets.versions.releases import known_releases


def targets_of_file(
    path: str, shown: str, name: str | None, budget: Budget | None = None
) -> tuple[Target, ...]:
    """Return the targets of a TOML file, or the requested one.

    Args:
        path: the file.
        shown: the file as the user wrote it.
        name: the name of one target; None for all.
        budget: the budget for reading it; None for the default.

    Raises:
        UsageError: the file has no such target, or an invalid one.
    """
    budget = budget or Budget()
    tables = _targets(path, budget)
    if not tables:
        from ltocompat.targets.lockfiles import is_lock

        if is_lock(read_toml(path)):
            return (_of_lock(path, ValueOrigin("given", "", budget)),)
        header = own_tables(path).header("targets.NAME")
        raise UsageError(f"{shown} names no target; write a table {header} with driver = ...")
    if name is None:
        with restated(UsageError, shown, LimitExceeded):
            found = [_target(path, key, tables[key], budget) for key in budget.timed(tables)]
        return tuple(target for targets in found for target in targets)
    if name not in tables:
        raise UsageError(
            f"{shown} has no target {name}{did_you_mean(name, tables)}; it has {', '.join(tables)}"
        )
    return _target(path, name, tables[name], budget)


def names_of_project(where: str) -> tuple[str, tuple[str, ...]]:
    """Return the base name of the file with named targets, and the targets in it."""
    path, tables = _project(where, Budget())
    return os.path.basename(path), tuple(tables)


def _project(where: str, budget: Budget) -> tuple[str, dict[str, Any]]:
    for folder in folders_around(where):
        for file in (OWN, PYPROJECT):
            path = os.path.join(folder, file)
            if os.path.isfile(path) and (tables := _targets(path, budget)):
                return path, tables
    return "", {}


def _targets(path: str, budget: Budget) -> dict[str, Any]:
    found = (own_tables(path, budget).tables or {}).get("targets", {})
    if not isinstance(found, dict):
        raise UsageError(f"{path}: targets is not a table; write [targets.NAME]")
    return found


def _target(path: str, name: str, value: object, budget: Budget) -> tuple[Target, ...]:
    origin = ValueOrigin(os.path.basename(path), os.path.dirname(path), budget)
    with restated(UsageError, f"{origin.source}: target {name}", UsageError):
        return _built(name, _keys(value), origin)


def _built(name: str, keys: dict[str, str], origin: ValueOrigin) -> tuple[Target, ...]:
    """The target of these keys; one for each class of machines that a file among them has."""
    asked = [key for key in FILE_KEYS if key in keys]
    if not asked:
        return (build(name, keys, origin),)
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} both name the machines; give one of them")
    # Imported here, as below: few targets are machines in a file, or have a lock.
    from ltocompat.targets.inventory.dockerfile import is_image
    from ltocompat.targets.inventory.reading import described_targets, image_target

    file = keys.pop(asked[0])
    path = os.path.normpath(os.path.join(origin.folder, file))
    if asked == ["image"] and (is_image(file) or not os.path.isfile(path)):
        return (image_target(file, keys, origin.source),)
    return described_targets(path, keys, origin, asked[0]) or ()


def _of_file(path: str, shown: str, where: str) -> tuple[Target, ...]:
    """The targets of a file that is no TOML, by its content."""
    from ltocompat.targets.inventory.reading import READ, described_targets
    from ltocompat.targets.requirements_txt import is_requirements

    origin = ValueOrigin("given", where)
    if found := described_targets(path, {}, origin):
        return found
    try:
        return (_of_lock(shown, origin),)
    except UsageError as error:
        if path.endswith((*_YAML, ".lock")) or is_requirements(path):
            raise
        reason = str(_not_a_target(shown, where))
        raise UsageError(f"{reason}; give a target file of a known kind: {READ}") from error


def _of_lock(shown: str, origin: ValueOrigin) -> Target:
    return build(f"lock={shown}", {"lock": shown}, origin)


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
    raise UsageError(f'{key} = {str(value)[:60]} is not a string; quote it: {key} = "..."')


_IMAGE = re.compile(r"[\w.-]+(?:/[\w.-]+)+:[\w.-]+")
_YAML = (".yml", ".yaml")
_BINARIES = (
    *(".so", ".o", ".a", ".fatbin", ".cubin", ".ptx", ".ltoir", ".whl", ".exe", ".dll", ".obj"),
    *(".lib", ".pyd", ".zip", ".tar", ".conda"),
)


def parse(texts: Sequence[str], *, where: str = ".") -> tuple[Target, ...]:
    """Return the deploy targets that a user wrote.

    Args:
        texts: one value of ``--deploy-target`` each: ``driver=550,gpu=h100``, ``prod.toml`` (all
            its targets), ``prod.toml:edge``, a name that the nearest ``ltocompat.toml`` or
            ``pyproject.toml`` defines, or only the values of an inline target: ``12.4``, ``R550``,
            ``h100``, ``12.4,hopper``.
        where: the folder to which paths are relative, and where the search for names starts.

    Returns:
        The targets in order; a repeated target is there once.

    Raises:
        UsageError: a text is none of these or invalid, or two targets have one name.
    """
    found: dict[str, Target] = {}
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f"{text!r:.60} is not a deploy target; write {EXAMPLE}")
        for target in _parse(text.strip(), where):
            found[target.name] = united(found.get(target.name, target), target)
    return tuple(found.values())


def united(target: Target, same: Target) -> Target:
    """Return one target for two with the same name: equal nodes of fleets.

    Raises:
        UsageError: the targets differ.
    """
    if target.nodes or same.nodes:
        return replace(target, nodes=tuple(dict.fromkeys(target.nodes + same.nodes)))
    if target != same:
        raise UsageError(f"two deploy targets are called {target.name!r}; rename one with name=")
    return target


def _parse(text: str, where: str) -> tuple[Target, ...]:
    if not text:
        raise UsageError(f"an empty deploy target was given; write {EXAMPLE}")
    if is_inline(text):
        return _built(text, split(text), ValueOrigin("given", where))
    file, name = _file(text)
    if file is not None:
        return targets_of_file(os.path.join(where, file), file, name)
    path = os.path.join(where, text)
    if os.path.isfile(path) and not text.lower().endswith(_BINARIES):
        return _of_file(path, text, where)
    if _IMAGE.fullmatch(text):
        from ltocompat.targets.inventory.reading import image_target

        return (image_target(text, {}, "given"),)
    return _of_word(text, where)


def _of_word(text: str, where: str) -> tuple[Target, ...]:
    """The target of a name that a project defines, or of values without keys."""
    if _may_be_name(text, where):
        budget = Budget()
        path, tables = _project(where, budget)
        if text in tables:
            return _target(path, text, tables[text], budget)
        if "," in text or is_word(text):
            keys = split(text)
            # "cuda=12.4 has 12.4" reads better than "12.4 has 12.4".
            return (build(with_keys(keys), keys, ValueOrigin("given", where)),)
    raise _not_a_target(text, where)


def _file(text: str) -> tuple[str | None, str | None]:
    """The TOML file of ``prod.toml`` or ``prod.toml:edge``, and the name behind it."""
    if text.endswith(".toml"):
        return text, None
    file, mark, name = text.partition(".toml:")
    return (f"{file}.toml", name) if mark else (None, None)


def _may_be_name(text: str, where: str) -> bool:
    return not (text.lower().endswith(_BINARIES) or os.path.exists(os.path.join(where, text)))


def _not_a_target(text: str, where: str) -> UsageError:
    """The error for what is not a target, by what it looks like."""
    if not _may_be_name(text, where):
        return UsageError(
            f"{text} is not a deploy target; to check it: ltocompat check {shlex.quote(text)} "
            f"--deploy-target {EXAMPLE}"
        )
    file, names = names_of_project(where)
    near = did_you_mean(text, (*names, *map(str, known_releases("toolkit"))))
    if not names:
        return UsageError(
            f"{text!r} is neither a file nor a deploy target{near}, and no ltocompat.toml or "
            f"pyproject.toml names any target; write {EXAMPLE}"
        )
    return UsageError(
        f"{text!r} is neither a file nor a deploy target{near}; {file} names "
        f"{', '.join(names)}; use one of them, or write {EXAMPLE}"
    )
