"""``ltocompat targets``."""

from __future__ import annotations

from ltocompat.cli.options import ListFormat
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import TargetsOptions
from ltocompat.report.exit_status import ExitStatus


@verb
def targets(*, options: TargetsOptions, form: ListFormat = ()) -> int:
    """List the GPUs, drivers and releases that targets can name.

    For example: ltocompat targets hopper
    """
    from ltocompat.commands import targets as command
    from ltocompat.report.verbs.targets import REPORT

    return run_verb(command.run, options, in_format(form, REPORT), ExitStatus())
