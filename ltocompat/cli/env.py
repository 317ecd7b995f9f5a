"""``ltocompat env``."""

from __future__ import annotations

from ltocompat.cli.options import FindingFormat, Shown
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import EnvOptions
from ltocompat.report.exit_status import ExitStatus, of_machine


@verb
def env(*, options: EnvOptions, shown: Shown, form: FindingFormat = ()) -> int:
    """Tell what device code meets here: driver, GPUs, linkers.

    For example: ltocompat env --save here.toml

    Every fact is told with its source, then what is wrong there and what to do. Exit code 1 says
    that something will fail.
    """
    from ltocompat.commands import env as command
    from ltocompat.report.verbs.env import REPORT

    writing = in_format(form, REPORT, shown.view())
    return run_verb(command.run, options, writing, ExitStatus(of_machine))
