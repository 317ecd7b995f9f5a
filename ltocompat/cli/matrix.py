"""``ltocompat matrix``."""
# ruff: noqa: FBT002 - typer calls a verb by keyword

from __future__ import annotations

import functools
from typing import Annotated

import typer

from ltocompat.cli.formats import in_format
from ltocompat.cli.options import Format, InstallLinkers, Paths, RequireSandbox, TrialLink
from ltocompat.cli.output import Output, terminal_width
from ltocompat.cli.run_verb import run_verb
from ltocompat.model.errors import UsageError
from ltocompat.report import Options
from ltocompat.report.exit_of_verbs import MatrixStatus


def matrix(
    paths: Paths,
    svg: Annotated[
        str | None,
        typer.Option(metavar="FILE.svg", help="Also draw a picture, over a file of that name."),
    ] = None,
    trial_link: TrialLink = False,
    install_linkers: InstallLinkers = False,
    _require_sandbox: RequireSandbox = False,
    form: Format = None,
) -> int:
    """Check on every nvJitLink, driver branch and GPU at once.

    For example: ltocompat matrix libx.so --svg libx.svg

    The same verdicts as those of check, laid out as tables, as JSON, or as a picture.
    """
    if svg is not None and not svg.lower().endswith(".svg"):
        raise UsageError(f"--svg {svg!r} doesn't end in .svg; give the picture such a name")
    from ltocompat.commands import matrix as command
    from ltocompat.report.drawing import run_and_draw
    from ltocompat.report.verbs.matrix import REPORT

    output = Output()
    options = command.MatrixOptions(
        tuple(paths),
        trial_link=trial_link,
        install_linkers=install_linkers,
        progress=output.progress,
    )
    run = command.run if svg is None else functools.partial(run_and_draw, svg=svg)
    writing = in_format(form, REPORT, Options(width=terminal_width()), paths)
    return run_verb(run, options, writing, MatrixStatus(), output)
