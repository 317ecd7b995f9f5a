"""``ltocompat require``."""

from __future__ import annotations

from typing import Annotated

from msgspec.structs import replace

from ltocompat.cli.options import QUIET, VERBOSE, ListFormat, Sandbox
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import Option, RequireOptions
from ltocompat.model.requirement import DESTINATIONS
from ltocompat.report import Options
from ltocompat.report.exit_status import ExitStatus, of_required


class Typed(Sandbox, frozen=True):
    """Options that only the command line has.

    Attributes:
        paste_for: Print only the lines to paste into this kind of file.
        quiet: Show one line per artifact, without tables.
        verbose: The same as --why.
    """

    paste_for: Annotated[str | None, Option(flags=("--for",), choices=tuple(DESTINATIONS))] = None
    quiet: Annotated[bool, Option(flags=QUIET)] = False
    verbose: Annotated[bool, Option(flags=VERBOSE)] = False


@verb
def require(*, options: RequireOptions, typed: Typed, form: ListFormat = ()) -> int:
    """Show the driver, nvJitLink and GPUs that device code needs.

    For example: ltocompat require libx.so

    The answer has lines to paste into requirements, conda recipes and container images.
    Print only those lines: ltocompat require dist/x.whl --for conda
    """
    from ltocompat.commands import require as command
    from ltocompat.report.verbs.require import REPORT

    options = replace(options, why=options.why or typed.verbose)
    view = Options(why=options.why, quiet=typed.quiet, paste_for=typed.paste_for or "")
    writing = in_format(form, REPORT, view, map(str, options.paths))
    return run_verb(command.run, options, writing, ExitStatus(of_required, required=True))
