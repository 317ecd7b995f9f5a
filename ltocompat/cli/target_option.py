"""The option ``--deploy-target``, whose value may be left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ltocompat.model.target import THIS_MACHINE

OPTION = "--deploy-target"


def complete_target() -> list[str]:
    """What the shell offers: names of the project, then every word that the tables know."""
    from ltocompat.commands.targets import TargetsOptions, run
    from ltocompat.targets.inline import KEYS
    from ltocompat.targets.named import names_of_project

    _, names = names_of_project(".")
    words = [f"{word.key}={word.value}" for word in run(TargetsOptions())]
    return [*names, *(f"{key}=" for key in KEYS), *words]


DeployTargets = Annotated[
    list[str] | None,
    typer.Option(
        OPTION,
        metavar="TARGET",
        autocompletion=complete_target,
        help="Where it goes: 12.4, R550, driver=580.65.06,gpu=h100+l4, prod.toml:edge, or a name "
        "in pyproject.toml; repeat it for more (default, and without a value: this machine).",
    ),
]


class VerbCommand(TyperCommand):
    """A verb's parser, which reads a bare ``--deploy-target`` as this machine.

    Its help shows arguments as they are written, without types of Python.
    """

    def __init__(self, *args: Any, **facts: Any) -> None:  # noqa: ANN401 - what typer gives
        super().__init__(*args, **facts)
        for argument in self._arguments:
            argument.display_type_rich = _no_type

    @property
    def _arguments(self) -> list[Any]:
        # Each version of typer has their type somewhere else.
        return [param for param in self.params if param.param_type_name == "argument"]

    def format_usage(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - see below
        """Write ``Usage: ltocompat check [OPTIONS] [PATH...]``."""
        words = ["[OPTIONS]", *(argument.metavar for argument in self._arguments)]
        formatter.write_usage(ctx.command_path, " ".join(words))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - see below
        """Parse the words behind the verb."""
        # Each version of typer has the type of ``ctx`` somewhere else.
        return super().parse_args(ctx, with_values(args))


def _no_type(ctx: object) -> None:
    """What stands behind the name of an argument: nothing."""
    del ctx


def with_values(arguments: Sequence[str]) -> list[str]:
    """Give each bare ``--deploy-target`` (the last word, or before an option) its value.

    typer knows no option whose value may be missing, so that the target's own spelling is
    put there.
    """
    done: list[str] = []
    for number, word in enumerate(arguments):
        if word == "--":
            return [*done, *arguments[number:]]
        done.append(word)
        following = arguments[number + 1] if number + 1 < len(arguments) else "-"
        if word == OPTION and following.startswith("-"):
            done.append(THIS_MACHINE)
    return done
