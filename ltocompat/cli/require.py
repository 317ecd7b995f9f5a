"""``ltocompat require``."""
# ruff: noqa: FBT002, PLR0917 - typer calls a verb by keyword

from __future__ import annotations

from typing import Annotated

import typer
from msgspec.structs import replace

from ltocompat.cli.formats import in_format
from ltocompat.cli.options import (
    Format,
    InstallLinkers,
    Paths,
    RequireSandbox,
    TrialLink,
    choose,
)
from ltocompat.cli.output import Output, terminal_width
from ltocompat.cli.run_verb import run_verb
from ltocompat.model.requirement import DESTINATIONS
from ltocompat.report import Options
from ltocompat.report.exit_of_verbs import RequireStatus


def require(
    paths: Paths,
    together: Annotated[
        bool,
        typer.Option("--together", help="Say what one link of all that these paths hold needs."),
    ] = False,
    trial_link: TrialLink = False,
    install_linkers: InstallLinkers = False,
    _require_sandbox: RequireSandbox = False,
    paste_for: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="|".join(DESTINATIONS),
            help="Print only the lines to paste there, as they go into the file.",
            autocompletion=lambda: list(DESTINATIONS),
        ),
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="Show which rules say so, and from which bytes.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Show one line an artifact, without tables.")
    ] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="The same as --why.")] = False,
    form: Format = None,
) -> int:
    """Say which driver, nvJitLink and GPUs device code needs.

    For example: ltocompat require libx.so

    Lines to paste into requirements, conda recipes and containers come with it; alone with, say,
    ltocompat require dist/x.whl --for conda
    """
    from ltocompat.commands import require as command
    from ltocompat.report.verbs.require import REPORT

    output = Output()
    options = command.RequireOptions(
        tuple(paths),
        trial_link=trial_link,
        install_linkers=install_linkers,
        progress=output.progress,
        together=together,
    )
    view = Options(terminal_width(), why=why or verbose, quiet=quiet)
    if paste_for is not None:
        # A line that is broken can't be pasted.
        where = choose("--for", paste_for, DESTINATIONS)
        view = replace(view, width=None, paste_for=where)
    writing = in_format(form, REPORT, view, paths)
    return run_verb(command.run, options, writing, RequireStatus(), output)
