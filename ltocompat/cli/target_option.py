"""The option ``--deploy-target``, whose value may be left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ltocompat.commands.this_machine import ThisMachine
    from ltocompat.model.target import Target

OPTION = "--deploy-target"
# No argument of a command line can hold this character.
_THIS_MACHINE = "\0"

DeployTargets = Annotated[
    list[str] | None,
    typer.Option(
        OPTION,
        metavar="TARGET",
        help="Where it goes: driver=550.54.15,nvjitlink=12.4,gpu=h100+sm_80, prod.toml, "
        "prod.toml:edge, or a name in pyproject.toml; repeat it for more (default, and without a "
        "value: this machine).",
    ),
]


def with_values(arguments: Sequence[str]) -> list[str]:
    """Give each bare ``--deploy-target`` (the last word, or before an option) its value.

    click knows no option whose value may be missing, so that a word is put there.
    """
    done: list[str] = []
    for number, word in enumerate(arguments):
        if word == "--":
            return [*done, *arguments[number:]]
        done.append(word)
        following = arguments[number + 1] if number + 1 < len(arguments) else "-"
        if word == OPTION and following.startswith("-"):
            done.append(_THIS_MACHINE)
    return done


def read_targets(texts: Sequence[str], python: str | None) -> tuple[Target | ThisMachine, ...]:
    """The deploy targets that were named; this machine, where none or no value was given.

    Raises:
        UsageError: one of them has no meaning.
    """
    from ltocompat.commands.check import resolve_targets
    from ltocompat.model.target import THIS_MACHINE

    named = [THIS_MACHINE if text == _THIS_MACHINE else text for text in texts]
    return resolve_targets(named, python)
