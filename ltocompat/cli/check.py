"""``ltocompat check``."""

from __future__ import annotations

from typing import Annotated

from msgspec.structs import replace

from ltocompat.cli.options import FindingFormat, GateOptions, Shown
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import CheckOptions, Option
from ltocompat.report.exit_status import CheckStatus


class Typed(GateOptions, frozen=True):
    """Options that only the command line has.

    Attributes:
        changes: Show only the differences between the targets.
    """

    changes: Annotated[bool, Option(after="trial_load")] = False


@verb
def check(*, options: CheckOptions, shown: Shown, typed: Typed, form: FindingFormat = ()) -> int:
    """Check whether device code will link and load on deploy targets.

    For example: ltocompat check libx.so --deploy-target driver=580,gpu=h100

    Verdicts, from best to worst: ok, jit, undocumented, unknown, fail. jit: the code works; the
    driver compiles PTX at load. undocumented: the code works in tests, but NVIDIA doesn't promise
    it. unknown: a fact is missing, and the finding names the fact.
    """
    least = typed.verdict()
    from ltocompat.commands import check as command
    from ltocompat.commands.environment_files import of_environment
    from ltocompat.model.errors import UsageError
    from ltocompat.model.verdict import Verdict
    from ltocompat.report.verbs.check import CHANGES, REPORT

    if typed.changes and not options.targets:
        raise UsageError("--changes compares targets; give --deploy-target at least twice")

    status = CheckStatus(fail_on=least or Verdict.FAIL, allow_empty=options.allow_empty)
    named = map(str, options.paths)
    options = of_environment(options)
    packages = not options.paths
    view = replace(shown.view(), packages=packages)
    writing = in_format(form, CHANGES if typed.changes else REPORT, view, named)
    options = replace(options, limits=typed.limits())
    return run_verb(command.run, options, writing, status)
