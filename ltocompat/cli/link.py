"""``ltocompat link``."""
# ruff: noqa: FBT002, PLR0917 - typer calls a verb by keyword

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ltocompat.cli.exit_status import FINDINGS, ExitStatus
from ltocompat.cli.options import FindingFormat, InstallMissing, Kinds, NvJitLinks
from ltocompat.cli.output import Output, answer, terminal_width
from ltocompat.report import Failure, Options
from ltocompat.report.verbs.link import REPORT
from ltocompat.scan.filters import ImageFilter

if TYPE_CHECKING:
    from ltocompat.commands.link import Linked
    from ltocompat.model.image import Skipped
    from ltocompat.model.link_options import Disagreement


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
    install_nvjitlink: InstallMissing = False,
    form: FindingFormat = None,
) -> int:
    """Link these inputs with real nvJitLinks, as LTO and as plain PTX and SASS side by side.

    No GPU and no driver is needed; the library runs in processes of its own. Exit code 1 says that
    some link did not succeed.
    """

    def records(
        outcome: ExitStatus, output_: Output
    ) -> Iterable[Linked | Disagreement | Skipped | Failure]:
        where = ImageFilter.parse(kinds=kind or ())
        from ltocompat.commands.link import Linked
        from ltocompat.commands.link import link as link_places

        def work(_: str) -> Iterator[Linked | Disagreement | Skipped]:
            for record in link_places(
                *places,
                arch=arch,
                nvjitlinks=nvjitlink or (),
                each=each,
                add_only=add_only,
                output=output,
                install_missing=install_nvjitlink,
                where=where or None,
                progress=output_.progress,
            ):
                if isinstance(record, Linked) and record.reason:
                    outcome.worsen(FINDINGS)
                yield record

        return outcome.each(["all of them"], work)

    return answer(form, REPORT, Options(width=terminal_width()), records, places)
