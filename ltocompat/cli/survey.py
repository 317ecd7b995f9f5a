"""``ltocompat survey SOURCE... -o OUT/``."""
# ruff: noqa: FBT002, PLR0917 - typer calls a verb by keyword

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ltocompat.cli.formats import Writing, replaced
from ltocompat.cli.options import VerbCommand, jobs_of
from ltocompat.cli.output import Output
from ltocompat.cli.run_verb import run_verb
from ltocompat.model.errors import UsageError
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
    # Dask and pyarrow import numpy, and it a library that starts a thread for each core. They turn
    # round for a tenth of a second, and nothing here multiplies matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@survey.command(_RUN, cls=VerbCommand)
def run(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Folders of packages, lists of names or requirements (a file, a line each), or "
            "package indexes by address (https://HOST/simple).",
        ),
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
    match: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Of an index, the projects of such names: nvidia-*."),
    ] = None,
    releases: Annotated[
        str,
        typer.Option(
            metavar="NUMBER", help="Newest releases of a project (default: 1).", show_default=False
        ),
    ] = "1",
    platforms: Annotated[
        list[str] | None,
        typer.Option(
            "--platform",
            metavar="PATTERN",
            help="Wheels of such platforms: manylinux*x86_64, win_amd64; repeat it for several.",
        ),
    ] = None,
    every_python: Annotated[
        bool,
        typer.Option(
            "--every-python", help="The wheels for every Python, not only for the newest."
        ),
    ] = False,
    limit_bytes: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Larger packages are left out: 500MB, 2GB (default: 8GB)."
        ),
    ] = None,
    jobs: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Worker processes (default: one a core)."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="A Dask cluster that does the work: tls://HOST:8786."),
    ] = None,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Show Dask's dashboard on http://127.0.0.1:8787.")
    ] = False,
    append: Annotated[
        bool,
        typer.Option(
            "--append", help="Add what is new to a dataset of other sources, targets or versions."
        ),
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Read every package anew, whatever is kept of it.")
    ] = False,
) -> int:
    """Survey packages into a dataset; what is there is not read again.

    For example: ltocompat survey run wheels/ -o survey/

    The word run may be left out. A run that was cut off goes on where it was. Indexes are asked as
    pip is set up (PIP_INDEX_URL, pip.conf).
    """
    from ltocompat.commands.survey import run as command
    from ltocompat.commands.survey.index import Choice
    from ltocompat.commands.survey.task import LIMIT_BYTES
    from ltocompat.report.verbs.survey import write

    options = command.RunOptions(
        tuple(sources),
        folder,
        targets=tuple(targets or ()),
        choice=Choice(_number(releases), tuple(platforms or ()), every_python=every_python),
        match=match,
        limit_bytes=LIMIT_BYTES if limit_bytes is None else _size(limit_bytes),
        jobs=jobs_of(jobs),
        scheduler=scheduler,
        dashboard=dashboard,
        append=append,
        cache=not no_cache,
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


_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SIZE = re.compile(r"([0-9]{1,12})\s*([a-z]*)", re.ASCII)


def _size(text: str) -> int:
    """Bytes, as ``500MB`` says them.

    Raises:
        UsageError: it says none.
    """
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None or match[2] not in _UNITS:
        raise UsageError(f"--limit-bytes {text!r} is no size; write 500MB or 2GB")
    return int(match[1]) * _UNITS[match[2]]


def _number(text: str) -> int:
    """How many releases.

    Raises:
        UsageError: it is no number from 1 on.
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text)):
        raise UsageError(f"--releases {text!r} is no number from 1 on")
    return int(text)
