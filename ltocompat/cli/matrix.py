"""``ltocompat matrix``."""
# ruff: noqa: FBT002 - typer calls a verb by keyword

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ltocompat.cli.exit_status import NOTHING_JUDGED, ExitStatus
from ltocompat.cli.options import Format, InstallMissing, TrialLink
from ltocompat.cli.output import Output, answer, terminal_width
from ltocompat.model.errors import LtocompatError, UsageError
from ltocompat.report import Failure, Options

if TYPE_CHECKING:
    from ltocompat.model.matrix import Matrix


def matrix(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Files, folders, places (libx.a::m.o@0x40) or -."),
    ],
    svg: Annotated[
        str | None,
        typer.Option(metavar="FILE.svg", help="Also draw a picture, over a file of that name."),
    ] = None,
    trial_link: TrialLink = False,
    install_nvjitlink: InstallMissing = False,
    form: Format = None,
) -> int:
    """Check against every nvJitLink, every driver branch and every GPU architecture.

    The same verdicts as those of check, laid out as tables, as JSON, or as a picture.
    """

    def records(outcome: ExitStatus, output: Output) -> Iterable[Matrix | Failure]:
        if svg is not None and not svg.lower().endswith(".svg"):
            raise UsageError(f"--svg {svg!r} doesn't end in .svg; give the picture such a name")
        from ltocompat.commands.matrix import matrix as lay_out

        def work(on_error: Callable[[LtocompatError], None]) -> Iterable[Matrix]:
            return lay_out(
                *paths,
                trial_link=trial_link,
                install_missing=install_nvjitlink,
                progress=output.progress,
                on_error=on_error,
            )

        return _drawn(outcome.all_of(work), svg, outcome)

    from ltocompat.report.verbs.matrix import REPORT

    return answer(form, REPORT, Options(width=terminal_width()), records, paths)


def _drawn(
    records: Iterable[Matrix | Failure], svg: str | None, outcome: ExitStatus
) -> Iterator[Matrix | Failure]:
    """Pass the matrices on, and draw them when they end."""
    matrices: list[Matrix] = []
    found = False
    for record in records:
        if not isinstance(record, Failure):
            found = True
            if svg is not None:
                matrices.append(record)
        yield record
    if not found:
        outcome.worsen(NOTHING_JUDGED)
    if matrices and svg is not None:
        from ltocompat.report.formats.svg import picture

        try:
            with open(svg, "w", encoding="utf-8") as file:
                file.write(picture(matrices))
        except OSError as error:
            ltocompat_error = LtocompatError(
                f"{svg!r} can't be written ({error.strerror}); check the path"
            )
            yield outcome.failed(ltocompat_error)
