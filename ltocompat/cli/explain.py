"""``ltocompat explain``."""
# ruff: noqa: FBT002 - typer calls a verb by keyword

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from ltocompat.cli.formats import in_format
from ltocompat.cli.options import Format
from ltocompat.cli.output import terminal_width
from ltocompat.cli.run_verb import run_verb
from ltocompat.model.place import Place
from ltocompat.report import Options
from ltocompat.report.exit_status import ExitStatus

_LONGEST = 1 << 20  # characters of standard input; more is no error message


def _rule_ids() -> list[str]:
    """What the shell offers."""
    from ltocompat.rules.prose import rule_ids

    return list(rule_ids())


def explain(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RULE|TEXT... [PATH...]",
            autocompletion=_rule_ids,
            help="A rule (PTX-01), an error (209, CUDA_ERROR_...) or its text, or - to read one; "
            "then files to look for the cause in.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List every rule.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Add all that the catalogue says of the rules.")
    ] = False,
    python: Annotated[
        str | None,
        typer.Option(
            metavar="PYTHON", help="Look for the cause in the packages of this interpreter."
        ),
    ] = None,
    form: Format = None,
) -> int:
    """Say what causes an error text and what to do.

    For example: ltocompat explain error 222 on driver 580.95.05

    The versions, architectures, symbols and files in the text are read. A rule is explained by its
    ID: ltocompat explain PTX-01
    """
    from ltocompat.commands import explain as command
    from ltocompat.report.verbs.explain import INDEX, REPORT

    text, places = _parted(words or [])
    options = command.ExplainOptions(
        _read(text) if text else None, every=every, places=places, python=python
    )
    report = INDEX if every else REPORT
    writing = in_format(form, report, Options(width=terminal_width(), why=full), places)
    return run_verb(command.run, options, writing, ExitStatus())


def _parted(words: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """The words of the text, and the files that are named after them."""
    end = len(words)
    while end > 1 and words[end - 1] and os.path.exists(Place.parse(words[end - 1]).path):
        end -= 1
    return words[:end], tuple(words[end:])


def _read(words: list[str]) -> str:
    """What was typed, or what standard input holds."""
    if words != ["-"]:
        return " ".join(words)
    return sys.stdin.buffer.read(_LONGEST).decode("utf-8", "replace")
