"""``ltocompat explain``."""
# ruff: noqa: FBT002 - typer calls a verb by keyword

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ltocompat.cli.formats import in_format
from ltocompat.cli.options import Format
from ltocompat.cli.output import terminal_width
from ltocompat.cli.run_verb import run_verb
from ltocompat.report import Options
from ltocompat.report.exit_status import ExitStatus

_LONGEST = 1 << 20  # characters of standard input; more is no error message


def explain(
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RULE|TEXT...", help="A rule (PTX-01), an error text, or - to read one."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List every rule.")] = False,
    form: Format = None,
) -> int:
    """Explain a rule, or find the rules behind an error text.

    Shows what holds, when the rule speaks, its evidence, the messages that users see, the remedy
    and the source.
    """
    from ltocompat.commands import explain as command
    from ltocompat.report.verbs.explain import INDEX, REPORT

    options = command.ExplainOptions(None if not text else _read(text), every=every)
    writing = in_format(form, INDEX if every else REPORT, Options(width=terminal_width()))
    return run_verb(command.run, options, writing, ExitStatus())


def _read(words: list[str]) -> str:
    """What was typed, or what standard input holds."""
    if words != ["-"]:
        return " ".join(words)
    return sys.stdin.buffer.read(_LONGEST).decode("utf-8", "replace")
