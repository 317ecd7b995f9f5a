"""``ltocompat env``."""

from __future__ import annotations

from ltocompat.cli.options import FindingFormat, Shown
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import EnvOptions
from ltocompat.report.exit_status import ExitStatus, of_machine


@verb
def env(*, options: EnvOptions, shown: Shown, form: FindingFormat = ()) -> int:
    """Show the driver, GPUs and linkers on this machine.

    For example: ltocompat env --save here.toml

    Each fact has its source; problems of the machine follow, with fixes. Exit code 1: something
    will fail.
    """
    from ltocompat.commands import env as command
    from ltocompat.report.verbs.env import REPORT

    writing = in_format(form, REPORT, shown.view())
    return run_verb(command.run, options, writing, ExitStatus(of_machine))
