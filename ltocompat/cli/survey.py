"""``ltocompat survey SOURCE... -o OUT/``."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, TextIO

import click
from msgspec.structs import replace

from ltocompat.cli.group import Group
from ltocompat.cli.run_verb import Writing, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.survey.options import Choice, MergeOptions, ReportOptions, RunOptions
from ltocompat.files.output import replaced
from ltocompat.report import Writable, answers
from ltocompat.report.exit_status import ExitStatus, of_survey
from ltocompat.report.text import escape
from ltocompat.scan.sources import is_address


class _Survey(Group):
    """``survey SOURCE`` is ``survey run SOURCE``, of a folder ``report``: ``survey ./report``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words after ``survey``."""
        known = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if known or not args else ["run", *args])


def _group() -> None:
    # Dask and pyarrow import numpy, and it a library that starts a thread for each core. They turn
    # round for a tenth of a second, and nothing here multiplies matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@verb
def run(*, options: RunOptions, choice: Choice) -> int:
    """Survey packages into a dataset; skip packages already in it.

    For example: ltocompat survey run wheels/ -o survey/

    The word "run" can be left out. An interrupted survey resumes where it stopped. The package
    indexes come from pip's configuration (PIP_INDEX_URL, pip.conf).
    """
    from ltocompat.commands.survey import run as command
    from ltocompat.report.verbs.survey import write

    options = replace(options, choice=choice)
    return run_verb(command.run, options, Writing(write, json=False), ExitStatus(of_survey))


@verb
def merge(*, options: MergeOptions) -> int:
    """Merge the shards of a survey into one dataset.

    For example: ltocompat survey merge shard-1/ shard-2/ -o survey/
    """
    from ltocompat.commands.survey import run as command
    from ltocompat.report.verbs.survey import write

    return run_verb(command.merge, options, Writing(write, json=False), ExitStatus(of_survey))


@verb
def report(*, options: ReportOptions) -> int:
    """Report what a survey found, as text or as an HTML page.

    For example: ltocompat survey report survey/ -o survey.html
    """
    from ltocompat.commands.survey import report as command
    from ltocompat.report.verbs.survey import write_report

    page = options.page
    written = write_report if page is None else functools.partial(_write_page, page)
    writing = Writing(written, json=False, files=() if page is None else (page,))
    return run_verb(command.run, options, writing, ExitStatus())


def _write_page(path: str, records: Iterable[Any], stream: Writable) -> None:
    from ltocompat.report.formats.html.survey import write

    for record in answers(records):
        with _page(path) as file:
            write(record, file)
        stream.write(f"page: {escape(path)}\n")


def _page(path: str) -> AbstractContextManager[TextIO]:
    """A file to write, or an address that fsspec knows."""
    if not is_address(path):
        return replaced(path)
    from ltocompat.commands.survey.storage import file_system

    files, place = file_system(path)
    page: TextIO = files.open(place, "w", encoding="utf-8", errors="backslashreplace")
    return page


survey = _Survey(
    "survey",
    help="Survey many packages: write a dataset of what they contain and require.",
    commands=[run, merge, report],
    callback=_group,
    subcommand_metavar="[run] SOURCE... -o FOLDER",
)
