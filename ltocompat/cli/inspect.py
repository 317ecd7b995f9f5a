"""``ltocompat inspect``."""
# ruff: noqa: FBT002, PLR0917 - typer calls a verb by keyword

from __future__ import annotations

from typing import Annotated

import typer

from ltocompat.cli.formats import in_format
from ltocompat.cli.options import (
    Archs,
    Format,
    InstallLinkers,
    Jobs,
    Kinds,
    MadeBy,
    Paths,
    RequireSandbox,
    choose,
    jobs_of,
)
from ltocompat.cli.output import Output, terminal_width
from ltocompat.cli.run_verb import run_verb
from ltocompat.model.errors import UsageError
from ltocompat.report import Options
from ltocompat.report.exit_of_verbs import ReadingStatus, WeighStatus
from ltocompat.report.image_summary import GROUPS
from ltocompat.scan.filters import ImageFilter


def inspect(
    paths: Paths,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(GROUPS),
            help="What the summary has rows for: kind and maker (the default), or another value.",
            autocompletion=lambda: list(GROUPS),
        ),
    ] = None,
    images: Annotated[
        bool, typer.Option("--images", help="One row an image, as they come; no summary.")
    ] = False,
    kind: Kinds = None,
    arch: Archs = None,
    made_by: MadeBy = None,
    kernels: Annotated[
        bool,
        typer.Option(
            "--kernels",
            help="Count the kernels; with --images, name each; with --weigh, rank them.",
        ),
    ] = False,
    hashes: Annotated[
        bool, typer.Option("--hash", help="SHA-256 of each image; lists them as --images does.")
    ] = False,
    weigh: Annotated[
        bool,
        typer.Option("--weigh", help="Say what weighs how much, and what could be saved."),
    ] = False,
    trial_link: Annotated[
        bool,
        typer.Option(
            "--trial-link",
            help="Narrow the releases of scrambled LTO-IR: ask nvJitLinks which first accepts it.",
        ),
    ] = False,
    install_linkers: InstallLinkers = False,
    _require_sandbox: RequireSandbox = False,
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Show two lines an artifact, without tables.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Show what says which libraries are needed.")
    ] = False,
    jobs: Jobs = None,
    form: Format = None,
) -> int:
    """List the LTO-IR, PTX and SASS in files, and who made it.

    For example: ltocompat inspect libx.so --by arch

    Nothing is guessed: where no bytes name a tool, an image is made by "unknown".
    """
    listed = images or hashes
    if by is not None:
        choose("--by", by, GROUPS)
        if listed:
            raise UsageError("--by groups the summary, --images and --hash replace it; drop one")
    where = ImageFilter.parse(kinds=kind or (), archs=arch or (), made_by=made_by or ())
    output = Output()
    view = Options(
        width=terminal_width(),
        by=by or "kind",
        images=listed,
        kernels=kernels,
        hashes=hashes,
        named=frozenset(paths),
        quiet=quiet,
        why=verbose,
    )
    if weigh:
        if listed or by is not None or where or trial_link:
            raise UsageError(
                "--weigh weighs all images of a path; leave out --by, --images, --hash, --kind, "
                "--arch, --made-by and --trial-link"
            )
        from ltocompat.commands import weigh as weigh_command
        from ltocompat.report.verbs import weigh as weigh_report

        weighing = weigh_command.WeighOptions(
            tuple(paths), kernels, jobs=jobs_of(jobs), progress=output.progress
        )
        writing = in_format(form, weigh_report.REPORT, view, paths)
        return run_verb(weigh_command.run, weighing, writing, WeighStatus(), output)
    from ltocompat.commands import inspect as command
    from ltocompat.report.verbs.inspect import REPORT

    options = command.InspectOptions(
        tuple(paths),
        kernels=kernels,
        hashes=hashes,
        trial_link=trial_link,
        install_linkers=install_linkers,
        where=where or None,
        jobs=jobs_of(jobs),
        progress=output.progress,
    )
    writing = in_format(form, REPORT, view, paths)
    return run_verb(command.run, options, writing, ReadingStatus(filtered=bool(where)), output)
