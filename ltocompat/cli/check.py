"""``ltocompat check``."""
# ruff: noqa: FBT002, PLR0917 - typer calls a verb by keyword

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from ltocompat.cli.exit_status import ExitStatus
from ltocompat.cli.options import (
    AllowEmpty,
    Beside,
    FindingFormat,
    InstallMissing,
    NoCache,
    Strict,
    TrialLink,
)
from ltocompat.cli.output import Output, answer, choose, terminal_width
from ltocompat.cli.target_option import DeployTargets, read_targets
from ltocompat.cli.verdict_gate import FAIL_ON, VerdictGate, threshold
from ltocompat.report import Failure, Options

if TYPE_CHECKING:
    from ltocompat.model.errors import LtocompatError
    from ltocompat.model.target import Target
    from ltocompat.model.verdict import Result

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
    trial_load: Annotated[
        bool,
        typer.Option(
            "--trial-load", help="Load the modules on this machine's GPUs and fold in the answers."
        ),
    ] = False,
    install_nvjitlink: InstallMissing = False,
    beside: Beside = None,
    no_cache: NoCache = False,
    why: Annotated[bool, typer.Option("--why", help="Show the reasoning of each verdict.")] = False,
    allow_empty: AllowEmpty = False,
    strict: Strict = False,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(FAIL_ON),
            help="The mildest verdict that ends in exit code 1 (default: fail).",
            autocompletion=lambda: list(FAIL_ON),
        ),
    ] = None,
    form: FindingFormat = None,
) -> int:
    """Judge whether device code will link and load on deploy targets, and say why.

    Verdicts, from the best: ok (documented to work), jit (the driver compiles PTX at load),
    undocumented (measured to work, not promised), unknown (a fact is missing, and named), fail.
    """

    def records(outcome: ExitStatus, output: Output) -> Iterable[Target | Result | Failure]:
        least = threshold(fail_on, strict=strict)
        wanted = None if route is None else choose("--route", route, _ROUTES)
        goals = read_targets(deploy_target or (), python)
        from ltocompat.commands.check import check as judge
        from ltocompat.model.target import Target

        def work(on_error: Callable[[LtocompatError], None]) -> Iterable[Result]:
            return judge(
                paths or (),
                goals,
                python=python,
                route=wanted,
                together=together,
                beside=beside or (),
                trial_link=trial_link,
                trial_load=trial_load,
                install_missing=install_nvjitlink,
                cache=not no_cache,
                progress=output.progress,
                on_error=on_error,
            )

        targets = [goal if isinstance(goal, Target) else goal.target for goal in goals]
        here = [goal for goal in goals if not isinstance(goal, Target)]
        if here and not paths:
            output.say(f"checking the packages of {here[0].installation}")
        judging = VerdictGate(outcome, least, output, allow_empty=allow_empty)
        return chain(targets, judging.watch(outcome.all_of(work)))

    from ltocompat.report.verbs.check import REPORT

    options = Options(width=terminal_width(), why=why, together=together)
    return answer(form, REPORT, options, records, paths or ())
