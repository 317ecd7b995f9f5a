"""``ltocompat link``."""
# ruff: noqa: FBT002, PLR0917 - typer calls a verb by keyword

from __future__ import annotations

from typing import Annotated

import typer

from ltocompat.cli.formats import in_format
from ltocompat.cli.options import (
    FindingFormat,
    InstallLinkers,
    Kinds,
    Linkers,
    NvJitLinks,
    RequireSandbox,
)
from ltocompat.cli.output import Output, terminal_width
from ltocompat.cli.run_verb import run_verb
from ltocompat.report import Options
from ltocompat.report.exit_of_verbs import LinkStatus
from ltocompat.scan.filters import ImageFilter


def link(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="PLACE...",
            help="LTO-IR, PTX, relocatable cubins, fatbins, objects, archives, or places in files.",
        ),
    ],
    arch: Annotated[
        str | None,
        typer.Option(
            metavar="SM", help="The link's target, e.g. sm_90; --each takes each image's."
        ),
    ] = None,
    linker: Linkers = None,
    nvjitlink: NvJitLinks = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write the linked cubin to a new file."
        ),
    ] = None,
    each: Annotated[
        bool, typer.Option("--each", help="Try every image apart instead of all together.")
    ] = False,
    add_only: Annotated[
        bool,
        typer.Option(
            "--add-only", help="With --each: only add it; fast, tells of LTO-IR versions."
        ),
    ] = False,
    kind: Kinds = None,
    install_linkers: InstallLinkers = False,
    _require_sandbox: RequireSandbox = False,
    form: FindingFormat = None,
) -> int:
    """Link inputs with real linkers, and say what that costs.

    For example: ltocompat link a.ltoir b.ltoir --arch sm_90

    They are linked as LTO, and as plain PTX and SASS beside it.

    No GPU and no driver is needed; nvJitLink and nvlink run in processes of their own. Exit code 1
    says that some link did not succeed. --kind links the images of that kind alone.
    """
    where = ImageFilter.parse(kinds=kind or ())
    from ltocompat.commands import link as command
    from ltocompat.report.verbs.link import REPORT

    streams = Output(lines=True)
    options = command.LinkOptions(
        tuple(places),
        arch=arch,
        linkers=(*(linker or ()), *(f"nvjitlink={version}" for version in nvjitlink or ())),
        each=each,
        add_only=add_only,
        output=output,
        install_linkers=install_linkers,
        where=where or None,
        progress=streams.progress,
    )
    writing = in_format(form, REPORT, Options(width=terminal_width()), places)
    return run_verb(command.run, options, writing, LinkStatus(), streams)
