"""``ltocompat extract``."""
# ruff: noqa: PLR0917 - typer calls a verb by keyword

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from ltocompat.cli.exit_status import ExitStatus
from ltocompat.cli.options import Archs, Format, Kinds, MadeBy
from ltocompat.cli.output import Output, answer, terminal_width
from ltocompat.model.image import Skipped
from ltocompat.report import Failure, Options
from ltocompat.scan.filters import ImageFilter

if TYPE_CHECKING:
    from ltocompat.commands.extract import Extracted


def extract(
    places: Annotated[
        list[str],
        typer.Argument(metavar="PLACE...", help="Files, folders, or places that inspect shows."),
    ],
    directory: Annotated[
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
    """Write images to files: cubins and PTX decoded, LTO-IR raw where it can be read.

    Scrambled LTO-IR is written as a .fatbin of one entry, which nvJitLink accepts.
    """

    def records(outcome: ExitStatus, output: Output) -> Iterable[Extracted | Skipped | Failure]:
        where = ImageFilter.parse(kinds=kind or (), archs=arch or (), made_by=made_by or ())
        from ltocompat.commands.extract import extract as write

        return outcome.each(
            places,
            lambda place: write(
                place, directory=directory, where=where or None, progress=output.progress
            ),
        )

    from ltocompat.report.verbs.extract import REPORT

    return answer(form, REPORT, Options(width=terminal_width()), records)
