"""``ltocompat targets``."""

from __future__ import annotations

from typing import Annotated

import typer

from ltocompat.cli.formats import in_format
from ltocompat.cli.options import Format
from ltocompat.cli.output import terminal_width
from ltocompat.cli.run_verb import run_verb
from ltocompat.report import Options
from ltocompat.report.exit_status import ExitStatus


def targets(
    word: Annotated[
        str | None,
        typer.Argument(metavar="[WORD]", help="Only what has this word: hopper, 4090, 12.4, R550."),
    ] = None,
    form: Format = None,
) -> int:
    """List the GPUs, drivers and releases of deploy targets.

    For example: ltocompat targets hopper
    """
    from ltocompat.commands import targets as command
    from ltocompat.report.verbs.targets import REPORT

    writing = in_format(form, REPORT, Options(terminal_width()))
    return run_verb(command.run, command.TargetsOptions(word), writing, ExitStatus())
