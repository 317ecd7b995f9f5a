"""``ltocompat check``."""
# ruff: noqa: FBT002, PLR0917 - typer calls a verb by keyword

from __future__ import annotations

from typing import Annotated

import typer

from ltocompat.cli.formats import in_format
from ltocompat.cli.options import (
    AllowEmpty,
    Beside,
    DeployTargets,
    FailOn,
    FindingFormat,
    InstallLinkers,
    NoCache,
    Notes,
    Quiet,
    RequireSandbox,
    Strict,
    TrialLink,
    TrialLoad,
    Verbose,
    Why,
    choose,
    threshold,
)
from ltocompat.cli.output import Output, terminal_width
from ltocompat.cli.run_verb import run_verb
from ltocompat.report import Options
from ltocompat.report.exit_of_verbs import CheckStatus

_ROUTES = ("load", "link")


def check(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH...]",
            help="Files, folders, packages, places (libx.a::m.o@0x40) or -; none of them: the "
            "packages of the environment that --python names, else of the active one.",
        ),
    ] = None,
    deploy_target: DeployTargets = None,
    route: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(_ROUTES),
            help="How modules that can go both ways get there (default: both are judged).",
            autocompletion=lambda: list(_ROUTES),
        ),
    ] = None,
    together: Annotated[
        bool,
        typer.Option("--together", help="Judge all that is linked in these paths as one link."),
    ] = False,
    python: Annotated[
        str | None,
        typer.Option(metavar="PYTHON", help="The interpreter whose environment is meant."),
    ] = None,
    trial_link: TrialLink = False,
    trial_load: TrialLoad = False,
    install_linkers: InstallLinkers = False,
    _require_sandbox: RequireSandbox = False,
    beside: Beside = None,
    no_cache: NoCache = False,
    changes: Annotated[
        bool, typer.Option("--changes", help="Show only what differs between the targets.")
    ] = False,
    why: Why = False,
    notes: Notes = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    allow_empty: AllowEmpty = False,
    strict: Strict = False,
    fail_on: FailOn = None,
    form: FindingFormat = None,
) -> int:
    """Judge whether device code links and loads where it goes.

    For example: ltocompat check libx.so --deploy-target driver=580,gpu=h100

    Verdicts, from the best: ok (documented to work), jit (the driver compiles PTX at load),
    undocumented (measured to work, not promised), unknown (a fact is missing, and named), fail.
    """
    least = threshold(fail_on, strict=strict)
    route = None if route is None else choose("--route", route, _ROUTES)
    from ltocompat.commands import check as command
    from ltocompat.model.errors import UsageError
    from ltocompat.model.verdict import Verdict
    from ltocompat.report.verbs import check as report
    from ltocompat.report.verbs import check_changes

    if changes and not deploy_target:
        raise UsageError("--changes compares targets; give --deploy-target for each of them")

    output = Output()
    options = command.CheckOptions(
        tuple(paths or ()),
        tuple(deploy_target or ()),
        python=python,
        route=route,
        together=together,
        beside=tuple(beside or ()),
        trial_link=trial_link,
        trial_load=trial_load,
        install_linkers=install_linkers,
        cache=not no_cache,
        progress=output.progress,
    )
    status = CheckStatus(least or Verdict.FAIL, allow_empty=allow_empty)
    view = Options(
        terminal_width(),
        why=why or verbose,
        notes=notes or verbose,
        quiet=quiet,
        together=together,
        packages=not paths,
    )
    faces = check_changes.REPORT if changes else report.REPORT
    writing = in_format(form, faces, view, paths or ())
    return run_verb(command.run, options, writing, status, output)
