"""``ltocompat require``."""
# ruff: noqa: FBT002 - typer calls a verb by keyword

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ltocompat.cli.exit_status import NOTHING_JUDGED, ExitStatus
from ltocompat.cli.options import Format, InstallMissing, TrialLink
from ltocompat.cli.output import Output, answer, terminal_width
from ltocompat.report import Failure, Options

if TYPE_CHECKING:
    from ltocompat.model.errors import LtocompatError
    from ltocompat.model.requirement import Required


def require(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Files, folders, places (libx.a::m.o@0x40) or -."),
    ],
    trial_link: TrialLink = False,
    install_nvjitlink: InstallMissing = False,
    form: Format = None,
) -> int:
    """Say what device code needs: the least nvJitLink and driver, the GPUs, lines to paste."""

    def records(outcome: ExitStatus, output: Output) -> Iterable[Required | Failure]:
        from ltocompat.commands.require import require as ask

        def work(on_error: Callable[[LtocompatError], None]) -> Iterable[Required]:
            return ask(
                *paths,
                trial_link=trial_link,
                install_missing=install_nvjitlink,
                progress=output.progress,
                on_error=on_error,
            )

        return _watched(outcome.all_of(work), outcome)

    from ltocompat.report.verbs.require import REPORT

    return answer(form, REPORT, Options(width=terminal_width()), records, paths)


def _watched(
    records: Iterable[Required | Failure], outcome: ExitStatus
) -> Iterator[Required | Failure]:
    """Pass the records on; that none has device code counts."""
    found = False
    for record in records:
        found |= not isinstance(record, Failure) and bool(record.modules)
        yield record
    if not found:
        outcome.worsen(NOTHING_JUDGED)
