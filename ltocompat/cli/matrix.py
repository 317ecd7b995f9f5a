"""``ltocompat matrix``."""

from __future__ import annotations

import functools
from typing import Annotated

from ltocompat.cli.options import FindingFormat, Sandbox
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import MatrixOptions, Option
from ltocompat.model.errors import UsageError
from ltocompat.report.exit_status import ExitStatus, of_matrix


class Typed(Sandbox, frozen=True):
    """Options that only the command line has.

    Attributes:
        svg: Also draw the tables as a picture. An existing file is replaced.
    """

    svg: Annotated[str | None, Option(metavar="FILE.svg")] = None


@verb
def matrix(*, options: MatrixOptions, typed: Typed, form: FindingFormat = ()) -> int:
    """Check against every nvJitLink, driver branch and GPU in one run.

    For example: ltocompat matrix libx.so --svg libx.svg

    Each cell shows the verdict of `check` for that target.

    The formats for findings, such as html, need --deploy-target.
    """
    svg = typed.svg
    if svg is not None and not svg.lower().endswith(".svg"):
        raise UsageError(f"--svg {svg!r} doesn't end in .svg; give a file name that does")
    from ltocompat.commands import matrix as command
    from ltocompat.report.verbs.matrix import BY_TARGET, REPORT, run_and_draw

    run = command.run if svg is None else functools.partial(run_and_draw, svg=svg)
    report = BY_TARGET if options.targets else REPORT
    writing = in_format(form, report, inputs=map(str, options.paths))
    return run_verb(run, options, writing, ExitStatus(of_matrix, required=True))
