"""``ltocompat nvjitlink list``, ``install`` and ``remove``."""
# ruff: noqa: FBT002 - typer calls a verb by keyword

from __future__ import annotations

from typing import Annotated

import typer

from ltocompat.cli.formats import in_format
from ltocompat.cli.options import Format
from ltocompat.cli.output import Output, terminal_width
from ltocompat.cli.run_verb import run_verb
from ltocompat.report import Options
from ltocompat.report.exit_status import ExitStatus

nvjitlink = typer.Typer(
    name="nvjitlink",
    help="List the nvJitLink libraries at hand; install and remove those for trials.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Versions = Annotated[
    list[str],
    typer.Argument(
        metavar="VERSION...",
        help="12.4 (of which the newest patch level), 12.4.127, or all.",
    ),
]


@nvjitlink.command("list")
def list_(form: Format = None) -> int:
    """List every nvJitLink that this machine reaches, and those installed for trials.

    Looked at are wheels, conda, CUDA_HOME and CUDA_PATH, /usr/local/cuda*, the loader's cache and
    LD_LIBRARY_PATH. Nothing is loaded: the version is read out of the file.
    """
    from ltocompat.commands import nvjitlink as command
    from ltocompat.report.verbs.nvjitlink import LISTING

    writing = in_format(form, LISTING, Options(width=terminal_width()))
    return run_verb(command.run_list, command.ListOptions(), writing, ExitStatus())


@nvjitlink.command()
def install(
    versions: Versions,
    allow_unknown: Annotated[
        bool,
        typer.Option(
            "--allow-unknown", help="Also install versions that no sum is known to check by."
        ),
    ] = False,
    form: Format = None,
) -> int:
    """Install nvJitLink libraries for trials, in a cache of our own and nowhere else.

    Your own pip or uv downloads them, so that its index, mirror and proxy apply. Each is checked
    against its SHA-256 sum; only the library is kept.
    """
    from ltocompat.commands import nvjitlink as command
    from ltocompat.report.verbs.nvjitlink import CHANGES

    output = Output()
    options = command.InstallOptions(
        tuple(versions), allow_unknown=allow_unknown, progress=output.progress
    )
    writing = in_format(form, CHANGES, Options(width=terminal_width()))
    return run_verb(command.run_install, options, writing, ExitStatus(), output)


@nvjitlink.command()
def remove(versions: Versions, form: Format = None) -> int:
    """Remove nvJitLink libraries that were installed for trials; no others are ever touched."""
    from ltocompat.commands import nvjitlink as command
    from ltocompat.report.verbs.nvjitlink import CHANGES

    options = command.RemoveOptions(tuple(versions))
    writing = in_format(form, CHANGES, Options(width=terminal_width()))
    return run_verb(command.run_remove, options, writing, ExitStatus())
