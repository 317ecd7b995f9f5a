"""``ltocompat init``."""

from __future__ import annotations

import functools
from typing import Annotated

from msgspec import Struct

from ltocompat.cli.run_verb import Writing, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import InitOptions, Option
from ltocompat.report.exit_status import ExitStatus, of_draft

_CI = ("github", "gitlab", "cibuildwheel", "pre-commit")


class Typed(Struct, frozen=True):
    """Options that only the command line has.

    Attributes:
        ci: Also show the lines for this CI system.
    """

    ci: Annotated[str | None, Option(choices=_CI)] = None


@verb
def init(*, options: InitOptions, typed: Typed) -> int:
    """Write a policy that the packages pass today.

    For example: ltocompat init dist/*.whl --ci github

    If there is already a policy, show the changes since then.
    """
    from ltocompat.commands import init as command
    from ltocompat.report.verbs.init import write

    writing = Writing(functools.partial(write, ci=typed.ci), json=False)
    return run_verb(command.run, options, writing, ExitStatus(of_draft))
