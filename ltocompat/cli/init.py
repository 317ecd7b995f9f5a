"""``ltocompat init``."""
# ruff: noqa: FBT002 - typer calls a verb by keyword

from __future__ import annotations

import functools
from typing import Annotated

import typer

from ltocompat.cli.formats import Writing
from ltocompat.cli.options import InstallLinkers, choose
from ltocompat.cli.output import Output
from ltocompat.cli.run_verb import run_verb
from ltocompat.report.exit_of_verbs import InitStatus

_CI = ("github", "gitlab", "cibuildwheel", "pre-commit")


def init(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH...]", help="Packages (default: dist/*).", show_default=False),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The policy; one that is there is never changed (default: the nearest one, else "
            "ltocompat.toml).",
        ),
    ] = None,
    install_linkers: InstallLinkers = False,
    ci: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(_CI),
            help="Show the lines for this CI system, too.",
            autocompletion=lambda: list(_CI),
        ),
    ] = None,
) -> int:
    """Write the policy that packages pass today, or what moved.

    For example: ltocompat init dist/*.whl --ci github

    Where there is a policy, what moved since is shown beside it.
    """
    if ci is not None:
        choose("--ci", ci, _CI)
    from ltocompat.commands import init as command
    from ltocompat.report.verbs.init import write

    streams = Output()
    options = command.InitOptions(
        tuple(paths or ()), output, install_linkers=install_linkers, progress=streams.progress
    )
    writing = Writing(functools.partial(write, ci=ci), json=False)
    return run_verb(command.run, options, writing, InitStatus(), streams)
