"""``ltocompat extract``."""
# ruff: noqa: PLR0917 - typer calls a verb by keyword

from __future__ import annotations

from typing import Annotated

import typer

from ltocompat.cli.formats import in_format
from ltocompat.cli.options import Archs, Format, Kinds, MadeBy
from ltocompat.cli.output import Output, terminal_width
from ltocompat.cli.run_verb import run_verb
from ltocompat.report import Options
from ltocompat.report.exit_of_verbs import ReadingStatus
from ltocompat.scan.filters import ImageFilter


def extract(
    places: Annotated[
        list[str],
        typer.Argument(metavar="PLACE...", help="Files, folders, or places that inspect shows."),
    ],
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Where to write; made when missing, and no file in it is ever replaced.",
        ),
    ],
    kind: Kinds = None,
    arch: Archs = None,
    made_by: MadeBy = None,
    form: Format = None,
) -> int:
    """Write images to files, decoded where they can be.

    For example: ltocompat extract libx.so@0x1f40.3 -o images

    Scrambled LTO-IR is written as a .fatbin of one entry, which nvJitLink accepts.
    """
    where = ImageFilter.parse(kinds=kind or (), archs=arch or (), made_by=made_by or ())
    from ltocompat.commands import extract as command
    from ltocompat.report.verbs.extract import REPORT

    streams = Output()
    options = command.ExtractOptions(
        tuple(places), output, where=where or None, progress=streams.progress
    )
    writing = in_format(form, REPORT, Options(width=terminal_width()))
    return run_verb(command.run, options, writing, ReadingStatus(filtered=bool(where)), streams)
