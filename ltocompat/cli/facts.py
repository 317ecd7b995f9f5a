"""``ltocompat facts``."""

from __future__ import annotations

from ltocompat.cli.options import Format
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import FactsOptions
from ltocompat.report.exit_status import ExitStatus


@verb
def facts(*, options: FactsOptions, form: Format = ()) -> int:
    """Print the compatibility tables behind the rules.

    For example: ltocompat facts --format json=facts.json

    To use the tables of a newer ltocompat, save the output of its facts --format json to a file.
    Then set LTOCOMPAT_FACTS to the path of this file.
    """
    from ltocompat.commands import facts as command
    from ltocompat.report.verbs.facts import REPORT

    return run_verb(command.run, options, in_format(form, REPORT), ExitStatus())
