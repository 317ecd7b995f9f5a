"""The values of ``--deploy-target`` -> targets: inline, a TOML file, or a name."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from ltocompat.model.errors import UsageError, did_you_mean
from ltocompat.model.target import Target
from ltocompat.targets.building import ValueOrigin, build
from ltocompat.targets.inline import EXAMPLE, is_inline, is_word, split, with_keys
from ltocompat.targets.named import names_of_project, target_of_project, targets_of_file

_BINARIES = (
    *(".so", ".o", ".a", ".fatbin", ".cubin", ".ptx", ".ltoir", ".whl", ".exe", ".dll", ".obj"),
    *(".lib", ".pyd", ".zip", ".tar", ".conda"),
)
_LOCKS = (".txt", ".lock", ".yml", ".yaml")


def parse(texts: Sequence[str], *, where: str = ".") -> tuple[Target, ...]:
    """The deploy targets that a user wrote.

    Args:
        texts: one value of ``--deploy-target`` each: ``driver=550,gpu=h100``, ``prod.toml`` (all
            its targets), ``prod.toml:edge``, a name that the nearest ``ltocompat.toml`` or
            ``pyproject.toml`` defines, or the values of an inline target alone: ``12.4``, ``R550``,
            ``h100``, ``12.4,hopper``.
        where: the folder that paths are relative to and that the search for names starts in.

    Returns:
        The targets in order; one that is given twice is there once.

    Raises:
        UsageError: a text is none of these, means nothing, or two targets have one name.
    """
    found: dict[str, Target] = {}
    for text in texts:
        for target in _parse(text.strip(), where):
            if found.setdefault(target.name, target) != target:
                raise UsageError(
                    f"two deploy targets are called {target.name!r}; give one another name="
                )
    return tuple(found.values())


def _parse(text: str, where: str) -> tuple[Target, ...]:
    if not text:
        raise UsageError(f"an empty deploy target was given; write {EXAMPLE}")
    if is_inline(text):
        return (build(text, split(text), ValueOrigin("given", where)),)
    file, name = _file(text)
    if file is not None:
        return targets_of_file(os.path.join(where, file), file, name)
    if _may_be_name(text, where):
        target = target_of_project(text, where)
        if target is not None:
            return (target,)
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
    """The error for what is no target, by what it looks like."""
    if not _may_be_name(text, where):
        if text.endswith(_LOCKS):
            return UsageError(f"{text} is a lock file; write --deploy-target lock={text}")
        return UsageError(
            f"{text} is not a deploy target; write: ltocompat check {shlex.quote(text)} "
            f"--deploy-target {EXAMPLE}"
        )
    file, names = names_of_project(where)
    if not names:
        return UsageError(
            f"{text!r} is not a deploy target, and no ltocompat.toml or pyproject.toml names any; "
            f"write {EXAMPLE}"
        )
    return UsageError(
        f"{text!r} is not a deploy target{did_you_mean(text, names)}; {file} names "
        f"{', '.join(names)}; else write {EXAMPLE}"
    )
