"""``ltocompat repair``."""

from __future__ import annotations

from ltocompat.cli.options import Format
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import RepairOptions
from ltocompat.report.exit_status import ExitStatus, of_repaired


@verb
def repair(*, options: RepairOptions, form: Format = ()) -> int:
    """Write wheels with repaired metadata, RUNPATHs and tags.

    For example: ltocompat repair dist/*.whl --dry-run

    patchelf changes the RUNPATHs. repair makes a change only if the change fixes a finding and
    causes no new finding. Exit code 1: a finding could not be fixed.
    """
    from ltocompat.commands import repair as command
    from ltocompat.report.verbs.repair import REPORT

    return run_verb(command.run, options, in_format(form, REPORT), ExitStatus(of_repaired))
