"""``ltocompat env``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ltocompat.cli.exit_status import FINDINGS, ExitStatus
from ltocompat.cli.options import FindingFormat
from ltocompat.cli.output import Output, answer, terminal_width
from ltocompat.report import Failure, Options

if TYPE_CHECKING:
    from ltocompat.commands.env import Surroundings


def env(
    save: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Also write the machine as a deploy target to a new TOML file."
        ),
    ] = None,
    root: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Look at the file system below DIR, e.g. an image's."),
    ] = None,
    form: FindingFormat = None,
) -> int:
    """Tell what device code will meet on this machine: driver, GPUs, linkers, compilers, toolkits.

    Every fact is told with its source, then what is wrong there and what to do. Exit code 1 says
    that something will fail.
    """

    def records(outcome: ExitStatus, _: Output) -> Iterable[Surroundings | Failure]:
        from ltocompat.commands.env import environment
        from ltocompat.commands.env import save as write
        from ltocompat.model.verdict import Verdict

        def look(_: str) -> Iterator[Surroundings]:
            found = environment(root)
            if any(problem.verdict is Verdict.FAIL for problem in found.problems):
                outcome.worsen(FINDINGS)
            yield found
            if save is not None:
                write(found, save)

        return outcome.each(["this machine"], look)

    from ltocompat.report.verbs.env import REPORT

    return answer(form, REPORT, Options(width=terminal_width()), records)
