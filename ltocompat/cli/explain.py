"""``ltocompat explain``."""
# ruff: noqa: FBT002 - typer calls a verb by keyword

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from ltocompat.cli.exit_status import ExitStatus
from ltocompat.cli.options import Format
from ltocompat.cli.output import Output, answer, terminal_width
from ltocompat.model.errors import UsageError
from ltocompat.report import Failure, Options

if TYPE_CHECKING:
    from ltocompat.commands.explain import Explained

_MOST = 3  # rules for one text
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

    def records(_: ExitStatus, __: Output) -> Iterable[Explained | Failure]:
        if bool(text) == every:
            raise UsageError("name a rule, paste an error text, or give --all: one of the three")
        from ltocompat.commands.explain import explain as look_up
        from ltocompat.commands.explain import explain_all

        return explain_all() if every else look_up(_read(text or []))[:_MOST]

    from ltocompat.report.verbs.explain import INDEX, REPORT

    report = INDEX if every else REPORT
    return answer(form, report, Options(width=terminal_width()), records)


def _read(words: list[str]) -> str:
    """What was typed, or what standard input holds."""
    if words != ["-"]:
        return " ".join(words)
    return sys.stdin.buffer.read(_LONGEST).decode("utf-8", "replace")
