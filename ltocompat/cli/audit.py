"""``ltocompat audit``."""
# ruff: noqa: FBT002, PLR0917 - typer calls a verb by keyword

from __future__ import annotations

from typing import Annotated

import typer

from ltocompat.cli.formats import in_format
from ltocompat.cli.options import (
    AllowEmpty,
    Beside,
    FailOnOrPolicy,
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
    threshold,
)
from ltocompat.cli.output import Output, terminal_width
from ltocompat.cli.run_verb import run_verb
from ltocompat.report import Options
from ltocompat.report.exit_of_verbs import AuditStatus


def audit(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH...]",
            help="Packages, libraries, folders or places (default: dist/*).",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            envvar="LTOCOMPAT_CONFIG",
            show_envvar=False,
            help="The policy (default: the nearest ltocompat.toml, or pyproject.toml with "
            "[tool.ltocompat]; without one, what holds on any target is judged).",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            envvar="LTOCOMPAT_BASELINE",
            show_envvar=False,
            help="Findings that are known and don't fail.",
        ),
    ] = None,
    write_baseline: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write what is found today as such a file."),
    ] = None,
    trial_link: TrialLink = False,
    trial_load: TrialLoad = False,
    beside: Beside = None,
    install_linkers: InstallLinkers = False,
    _require_sandbox: RequireSandbox = False,
    no_cache: NoCache = False,
    why: Why = False,
    notes: Notes = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    allow_empty: AllowEmpty = False,
    strict: Strict = False,
    fail_on: FailOnOrPolicy = None,
    form: FindingFormat = None,
) -> int:
    """Hold packages against the project's policy before a release.

    For example: ltocompat audit dist/*.whl --format github

    The policy names deploy targets, GPUs and drivers; packages are held to what they promise, too.
    """
    least = threshold(fail_on, strict=strict)
    from ltocompat.commands import audit as command
    from ltocompat.commands.policy.baseline import Baseline
    from ltocompat.report.verbs.audit import REPORT

    view = Options(terminal_width(), why=why or verbose, notes=notes or verbose, quiet=quiet)
    writing = in_format(form, REPORT, view, paths or ())
    output = Output()
    options = command.AuditOptions(
        tuple(paths or ()),
        policy=config,
        baseline=Baseline() if baseline is None else baseline,
        write_baseline=write_baseline,
        outputs=writing.files,
        fail_on=least,
        trial_link=trial_link,
        trial_load=trial_load,
        allow_empty=allow_empty,
        beside=tuple(beside or ()),
        install_linkers=install_linkers,
        cache=not no_cache,
        progress=output.progress,
    )
    return run_verb(command.run, options, writing, AuditStatus(), output)
