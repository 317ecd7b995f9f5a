"""``ltocompat require``."""

from __future__ import annotations

from typing import Annotated

from msgspec.structs import replace

from ltocompat.cli.options import QUIET, VERBOSE, Format, Sandbox
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import Option, RequireOptions
from ltocompat.model.requirement import DESTINATIONS
from ltocompat.report import Options
from ltocompat.report.exit_status import ExitStatus, of_required


@verb
def require(
    *,
    options: RequireOptions,
    sandbox: Sandbox,  # noqa: ARG001 - trials read it out of their environment
    paste_for: Annotated[
        str | None,
        Option(
            "Print only the lines to paste there, as they go into the file.",
            flags=("--for",),
            choices=tuple(DESTINATIONS),
        ),
    ] = None,
    quiet: Annotated[
        bool, Option("Show one line an artifact, without tables.", flags=QUIET)
    ] = False,
    verbose: Annotated[bool, Option("The same as --why.", flags=VERBOSE)] = False,
    form: Format = (),
) -> int:
    """Say which driver, nvJitLink and GPUs device code needs.

    For example: ltocompat require libx.so

    Lines to paste into requirements, conda recipes and containers come with it; alone with, say,
    ltocompat require dist/x.whl --for conda
    """
    from ltocompat.commands import require as command
    from ltocompat.report.verbs.require import REPORT

    options = replace(options, why=options.why or verbose)
    view = Options(why=options.why, quiet=quiet, paste_for=paste_for or "")
    writing = in_format(form, REPORT, view, map(str, options.paths))
    return run_verb(command.run, options, writing, ExitStatus(of_required, required=True))
