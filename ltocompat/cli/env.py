"""``ltocompat env``."""
# ruff: noqa: FBT002, PLR0917 - typer calls a verb by keyword

from __future__ import annotations

from typing import Annotated

import typer

from ltocompat.cli.formats import in_format
from ltocompat.cli.options import FindingFormat, Notes, Quiet, Verbose, Why
from ltocompat.cli.output import terminal_width
from ltocompat.cli.run_verb import run_verb
from ltocompat.report import Options
from ltocompat.report.exit_of_verbs import EnvStatus


def env(
    save: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Also write the machine as a deploy target to a new TOML file."
        ),
    ] = None,
    root: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Look at the file system below DIR, e.g. an image's."),
    ] = None,
    why: Why = False,
    notes: Notes = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    form: FindingFormat = None,
) -> int:
    """Tell what device code meets here: driver, GPUs, linkers.

    For example: ltocompat env --save here.toml

    Every fact is told with its source, then what is wrong there and what to do. Exit code 1 says
    that something will fail.
    """
    from ltocompat.commands import env as command
    from ltocompat.report.verbs.env import REPORT

    options = command.EnvOptions(root=root, save=save)
    view = Options(terminal_width(), why=why or verbose, notes=notes or verbose, quiet=quiet)
    writing = in_format(form, REPORT, view)
    return run_verb(command.run, options, writing, EnvStatus())
