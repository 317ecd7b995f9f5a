"""``ltocompat slim``."""

from __future__ import annotations

from ltocompat.cli.options import Format
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import SlimOptions
from ltocompat.report.exit_status import ExitStatus


@verb
def slim(*, options: SlimOptions, form: Format = ()) -> int:
    """Write smaller packages, without the device code that no GPU uses.

    For example: ltocompat slim dist/x.whl --keep-gpu h100+l4 -o smaller/

    slim never removes code that a kept GPU uses. Without --no-ptx, it also keeps PTX for future
    GPUs. slim reads the new file again, and compares every image (by SHA-256) and every verdict
    with the original. The file gets its final name only after these comparisons.
    """
    from ltocompat.commands import slim as command
    from ltocompat.report.verbs.slim import REPORT

    return run_verb(command.run, options, in_format(form, REPORT), ExitStatus())
