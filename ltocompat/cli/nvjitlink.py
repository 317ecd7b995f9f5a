"""``ltocompat nvjitlink list``, ``install`` and ``remove``."""
# ruff: noqa: FBT002 - typer calls a verb by keyword

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ltocompat.cli.exit_status import ExitStatus
from ltocompat.cli.options import Format
from ltocompat.cli.output import Output, answer, terminal_width
from ltocompat.report import Failure, Options
from ltocompat.report.verbs.nvjitlink import CHANGES, LISTING

if TYPE_CHECKING:
    from ltocompat.commands.nvjitlink import InstallChange, Plan
    from ltocompat.model.image import Skipped
    from ltocompat.targets.nvjitlink import NvJitLink

nvjitlink = typer.Typer(
    name="nvjitlink",
    help="List the nvJitLink libraries at hand; install and remove those for trials.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_EVERYTHING = "everything"  # what failed, where it was no single version

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

    def records(outcome: ExitStatus, _: Output) -> Iterable[NvJitLink | Skipped | Failure]:
        from ltocompat.commands.nvjitlink import list_nvjitlinks

        return outcome.each([_EVERYTHING], lambda _: list_nvjitlinks())

    return answer(form, LISTING, Options(width=terminal_width()), records)


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

    def records(outcome: ExitStatus, output: Output) -> Iterable[Plan | InstallChange | Failure]:
        from ltocompat.commands.nvjitlink import install_nvjitlinks, plan_nvjitlinks

        plan = plan_nvjitlinks(versions, allow_unknown=allow_unknown)

        def work(_: str) -> Iterator[Plan | InstallChange]:
            yield plan
            yield from install_nvjitlinks(plan, progress=output.progress)

        return outcome.each([_EVERYTHING], work)

    return answer(form, CHANGES, Options(width=terminal_width()), records)


@nvjitlink.command()
def remove(versions: Versions, form: Format = None) -> int:
    """Remove nvJitLink libraries that were installed for trials; no others are ever touched."""

    def records(outcome: ExitStatus, _: Output) -> Iterable[InstallChange | Failure]:
        from ltocompat.commands.nvjitlink import remove_nvjitlinks

        return outcome.each(versions, remove_nvjitlinks)

    return answer(form, CHANGES, Options(width=terminal_width()), records)
