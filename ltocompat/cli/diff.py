"""``ltocompat diff``."""
# ruff: noqa: FBT002 - typer calls a verb by keyword

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ltocompat.cli.formats import in_format
from ltocompat.cli.options import FindingFormat, choose
from ltocompat.cli.output import Output, terminal_width
from ltocompat.cli.run_verb import run_verb
from ltocompat.report import Options
from ltocompat.report.exit_of_verbs import DiffStatus

_WORDS = ("lost-arch", "driver-rose", "nvjitlink-rose", "lost-ptx")


def diff(
    old: Annotated[
        str,
        typer.Argument(
            metavar="OLD", help="A file, package, folder or place, -, or saved inspect JSON."
        ),
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The same, of the newer release.")],
    forbid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="|".join(_WORDS),
            help="End in exit code 1 when it happened; repeat it or separate by commas. lost-arch "
            "is of SASS or LTO-IR, or a GPU that nothing serves.",
            autocompletion=lambda: list(_WORDS),
        ),
    ] = None,
    kernels: Annotated[
        bool,
        typer.Option(
            "--kernels/--no-kernels", help="Compare names of kernels; without, it is faster."
        ),
    ] = True,
    form: FindingFormat = None,
) -> int:
    """Say what moved between two releases of a package or file.

    For example: ltocompat diff old.whl new.whl --forbid lost-arch

    Compared are architectures, makers, least driver and nvJitLink, sizes and kernels.

    Files are compared with those of the same name, whatever version it carries. Of saved JSON
    (inspect --kernels --format json) only what it holds is compared.
    """
    forbidden = _forbidden(forbid or ())
    from ltocompat.commands import diff as command
    from ltocompat.report.verbs.diff import REPORT

    output = Output()
    options = command.DiffOptions(
        old, new, kernels=kernels, forbid=forbidden, progress=output.progress
    )
    writing = in_format(form, REPORT, Options(width=terminal_width()), (old, new))
    return run_verb(command.run, options, writing, DiffStatus(), output)


def _forbidden(given: Sequence[str]) -> tuple[str, ...]:
    words = (word.strip() for text in given for word in text.split(","))
    return tuple(dict.fromkeys(choose("--forbid", word, _WORDS) for word in words))
