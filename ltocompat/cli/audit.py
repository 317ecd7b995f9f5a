"""``ltocompat audit``."""
# ruff: noqa: FBT002, PLR0917 - typer calls a verb by keyword

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from ltocompat.cli.judging import FAIL_ON, threshold
from ltocompat.cli.options import Beside, InstallMissing, NoCache
from ltocompat.cli.outcome import FINDINGS, NOTHING_JUDGED, Outcome, guarded
from ltocompat.cli.output import Output, terminal_width
from ltocompat.cli.writers import FORMATS, Written, read_formats, write_all
from ltocompat.errors import UsageError
from ltocompat.report import Failure, Options

if TYPE_CHECKING:
    from ltocompat.errors import LtocompatError
    from ltocompat.policy.baseline import Baseline
    from ltocompat.policy.gate import Audited
    from ltocompat.policy.values import Policy
    from ltocompat.report.auditing import Audit
    from ltocompat.required import Required

DIST = os.path.join("dist", "*")


def audit(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH...]",
            help=f"Packages, libraries, folders or places (default: {DIST}).",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The policy (default: the nearest ltocompat.toml, or pyproject.toml with "
            "[tool.ltocompat]).",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Findings that are known and don't fail."),
    ] = None,
    write_baseline: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write what is found today as such a file."),
    ] = None,
    beside: Beside = None,
    install_nvjitlink: InstallMissing = False,
    no_cache: NoCache = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="The same as --fail-on undocumented.")
    ] = False,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(FAIL_ON),
            help="The mildest verdict that ends in exit code 1 (default: the policy's, else fail).",
            autocompletion=lambda: list(FAIL_ON),
        ),
    ] = None,
    form: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            metavar="FORMAT[=FILE]",
            help=f"{', '.join(FORMATS)}; repeat it for several, at most one of them without a file "
            "(default: table).",
            autocompletion=lambda: list(FORMATS),
        ),
    ] = None,
) -> int:
    """Hold packages against the project's own deploy targets and promises, before a release."""
    output = Output()
    written: list[Written] = []

    def work(outcome: Outcome) -> None:
        written.extend(read_formats(form or ()))
        files = _files(paths)
        policy = _policy(config, fail_on, strict=strict)
        found = _find(outcome, output, files, policy, _known(baseline), beside or (), install=(
            install_nvjitlink
        ), cache=not no_cache)
        if write_baseline is not None:
            found = _rebased(found, write_baseline, output)
        _count(found, outcome)
        write_all(written, found, output, Options(width=terminal_width()), taken=files)

    def json() -> bool:
        return not output.used and any(one == ("json", None) for one in written)

    return guarded(work, json=json)
