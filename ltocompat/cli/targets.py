"""``ltocompat targets``."""

from __future__ import annotations

from ltocompat.cli.formats import in_format
from ltocompat.cli.options import Format
from ltocompat.cli.output import terminal_width
from ltocompat.cli.run_verb import run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import TargetsOptions
from ltocompat.report import Options
from ltocompat.report.exit_status import ExitStatus


@verb
def targets(*, options: TargetsOptions, form: Format = ()) -> int:
    """List the GPUs, drivers and releases of deploy targets.

    For example: ltocompat targets hopper
    """
    from ltocompat.commands import targets as command
    from ltocompat.report.verbs.targets import REPORT

    writing = in_format(form, REPORT, Options(terminal_width()))
    return run_verb(command.run, options, writing, ExitStatus())
