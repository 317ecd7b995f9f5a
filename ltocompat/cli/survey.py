"""``ltocompat survey SOURCE... -o OUT/``."""
# ruff: noqa: FBT002 - typer calls a verb by keyword

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ltocompat.cli.formats import Writing, replaced
from ltocompat.cli.options import VerbCommand
from ltocompat.cli.output import Output
from ltocompat.cli.run_verb import run_verb
from ltocompat.report import Writable
from ltocompat.report.exit_of_verbs import SurveyStatus
from ltocompat.report.text import escape

_RUN = "run"


class _Survey(TyperGroup):
    """``survey SOURCE`` is ``survey run SOURCE``, of a folder ``report``: ``survey ./report``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own
        """Parse the words behind ``survey``."""
        known = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        words = args if known or not args else [_RUN, *args]
        return list(super().parse_args(ctx, words))


survey = typer.Typer(
    name="survey",
    cls=_Survey,
    help="Survey many packages: a dataset of what they hold and need.",
    no_args_is_help=True,
    subcommand_metavar="[run] SOURCE... -o FOLDER",
    rich_markup_mode=None,
)


@survey.callback()
def _group() -> None:
    pass


@survey.command(_RUN, cls=VerbCommand)
def run(
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE...", help="Folders of packages, or packages.")
    ],
    folder: Annotated[
        str,
        typer.Option("-o", "--output", metavar="FOLDER", help="The folder of the dataset."),
    ],
    targets: Annotated[
        list[str] | None,
        typer.Option(
            "--deploy-target",
            metavar="TARGET",
            help="Where the packages go, as check takes it; repeat it for several (default: driver "
            "branches from 535 to 615 with the GPUs of their time).",
        ),
    ] = None,
    append: Annotated[
        bool,
        typer.Option(
            "--append", help="Add what is new to a dataset of other sources, targets or versions."
        ),
    ] = False,
) -> int:
    """Survey packages into a dataset; what is there is not read again.

    For example: ltocompat survey run wheels/ -o survey/

    The word run may be left out.
    """
    from ltocompat.commands.survey import run as command
    from ltocompat.report.verbs.survey import write

    options = command.RunOptions(
        tuple(sources), folder, targets=tuple(targets or ()), append=append
    )
    return run_verb(command.run, options, Writing(write, json=False), SurveyStatus(), Output())


@survey.command("report", cls=VerbCommand)
def report(
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="The folder of a survey's dataset.")
    ],
    page: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write one HTML page with charts and all rows."
        ),
    ] = None,
) -> int:
    """Tell what a survey found: in sentences, or as a page.

    For example: ltocompat survey report survey/ -o survey.html
    """
    from ltocompat.commands.survey import report as command
    from ltocompat.report.exit_status import ExitStatus
    from ltocompat.report.verbs.survey_report import write

    written = write if page is None else functools.partial(_write_page, page)
    writing = Writing(written, json=False, files=() if page is None else (page,))
    return run_verb(command.run, command.ReportOptions(folder), writing, ExitStatus(), Output())


def _write_page(path: str, records: Iterable[Any], stream: Writable) -> None:
    from ltocompat.report.verbs.survey_report import write_page

    with replaced(path) as file:
        write_page(records, file)
    stream.write(f"page: {escape(path)}\n")
