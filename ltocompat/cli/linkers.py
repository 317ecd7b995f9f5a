"""``ltocompat linkers list``, ``install`` and ``remove``; ``nvjitlink`` is the same for that one.

The words behind ``ltocompat nvjitlink`` are versions, and its JSON is ``ltocompat/nvjitlink/v1``.
"""
# ruff: noqa: FBT002 - typer calls a verb by keyword

from __future__ import annotations

from typing import Annotated

import typer

from ltocompat.cli.formats import in_format
from ltocompat.cli.options import Format, VerbCommand
from ltocompat.cli.output import Output, terminal_width
from ltocompat.cli.run_verb import run_verb
from ltocompat.report import Options
from ltocompat.report.exit_status import ExitStatus

linkers = typer.Typer(
    name="linkers",
    help="List, install and remove nvJitLinks and nvlinks.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
nvjitlink = typer.Typer(
    name="nvjitlink",
    help="The same as linkers, of nvJitLink alone.",
    no_args_is_help=True,
    rich_markup_mode=None,
    hidden=True,
)

Wanted = Annotated[
    list[str],
    typer.Argument(
        metavar="LINKER=VERSION...",
        help="nvjitlink=12.4 (of which the newest patch level), nvlink=13.5.37, nvlink=all.",
    ),
]
Versions = Annotated[
    list[str],
    typer.Argument(
        metavar="VERSION...",
        help="12.4 (of which the newest patch level), 12.4.127, or all.",
    ),
]
AllowUnknown = Annotated[
    bool,
    typer.Option("--allow-unknown", help="Also install versions that no sum is known to check by."),
]


@linkers.command("list", cls=VerbCommand)
def list_(form: Format = None) -> int:
    """List the nvJitLinks and nvlinks that this machine reaches.

    For example: ltocompat linkers list --format json

    Looked at are wheels, conda, CUDA_HOME and CUDA_PATH, /usr/local/cuda*, the loader's cache,
    LD_LIBRARY_PATH and PATH. Nothing is loaded: the version is read out of the file.
    """
    from ltocompat.commands import linkers as command
    from ltocompat.report.verbs.linkers import LISTING

    writing = in_format(form, LISTING, Options(width=terminal_width()))
    return run_verb(command.run_list, command.ListOptions(), writing, ExitStatus())


@linkers.command(cls=VerbCommand)
def install(wanted: Wanted, allow_unknown: AllowUnknown = False, form: Format = None) -> int:
    """Install linkers for trials, in a cache apart.

    For example: ltocompat linkers install nvjitlink=13.4 nvlink=13.5

    Your own pip or uv downloads them, so that its index, mirror and proxy apply. Each is checked
    against its SHA-256 sum; only the library, or nvlink and its libnvvm, is kept. nvlink can be
    had from 13.0 on: NVIDIA's packages of CUDA 12 hold none.
    """
    from ltocompat.commands import linkers as command
    from ltocompat.report.verbs.linkers import CHANGES

    output = Output()
    options = command.InstallOptions(
        tuple(wanted), allow_unknown=allow_unknown, progress=output.progress
    )
    writing = in_format(form, CHANGES, Options(width=terminal_width()))
    return run_verb(command.run_install, options, writing, ExitStatus(), output)


@linkers.command(cls=VerbCommand)
def remove(wanted: Wanted, form: Format = None) -> int:
    """Remove linkers that were installed for trials, and no others.

    For example: ltocompat linkers remove nvjitlink=all
    """
    from ltocompat.commands import linkers as command
    from ltocompat.report.verbs.linkers import CHANGES

    writing = in_format(form, CHANGES, Options(width=terminal_width()))
    return run_verb(command.run_remove, command.RemoveOptions(tuple(wanted)), writing, ExitStatus())


@nvjitlink.command("list", cls=VerbCommand)
def list_nvjitlinks(form: Format = None) -> int:
    """The same as ``ltocompat linkers list``, of nvJitLink alone."""
    from ltocompat.commands import linkers as command
    from ltocompat.report.verbs.linkers import NVJITLINK_LISTING
    from ltocompat.targets.linkers import Tool

    writing = in_format(form, NVJITLINK_LISTING, Options(width=terminal_width()))
    options = command.ListOptions((Tool.NVJITLINK,))
    return run_verb(command.run_list, options, writing, ExitStatus())


@nvjitlink.command("install", cls=VerbCommand)
def install_nvjitlinks(
    versions: Versions, allow_unknown: AllowUnknown = False, form: Format = None
) -> int:
    """The same as ``ltocompat linkers install nvjitlink=VERSION``."""
    from ltocompat.commands import linkers as command
    from ltocompat.report.verbs.linkers import NVJITLINK_CHANGES

    output = Output()
    options = command.InstallOptions(
        _nvjitlinks(versions), allow_unknown=allow_unknown, progress=output.progress
    )
    writing = in_format(form, NVJITLINK_CHANGES, Options(width=terminal_width()))
    return run_verb(command.run_install, options, writing, ExitStatus(), output)


@nvjitlink.command("remove", cls=VerbCommand)
def remove_nvjitlinks(versions: Versions, form: Format = None) -> int:
    """The same as ``ltocompat linkers remove nvjitlink=VERSION``."""
    from ltocompat.commands import linkers as command
    from ltocompat.report.verbs.linkers import NVJITLINK_CHANGES

    writing = in_format(form, NVJITLINK_CHANGES, Options(width=terminal_width()))
    options = command.RemoveOptions(_nvjitlinks(versions))
    return run_verb(command.run_remove, options, writing, ExitStatus())


def _nvjitlinks(versions: list[str]) -> tuple[str, ...]:
    return tuple(f"nvjitlink={version}" for version in versions)
