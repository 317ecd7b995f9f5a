"""``ltocompat slim``."""

from __future__ import annotations

from ltocompat.cli.options import Format
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import SlimOptions
from ltocompat.report.exit_status import ExitStatus


@verb
def slim(*, options: SlimOptions, form: Format = ()) -> int:
    """Write packages anew without the device code that nobody takes.

    For example: ltocompat slim dist/x.whl --keep-gpu h100+l4 -o smaller/

    What a kept GPU takes today stays, always, and so does PTX for GPUs to come. Each image that
    stays is compared by SHA-256, and each verdict, before the new file gets its name.
    """
    from ltocompat.commands import slim as command
    from ltocompat.report.verbs.slim import REPORT

    return run_verb(command.run, options, in_format(form, REPORT), ExitStatus())
