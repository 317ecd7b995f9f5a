"""``ltocompat diff``."""
# ruff: noqa: FBT002 - typer calls a verb by keyword

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from ltocompat.cli.exit_status import FINDINGS, NOTHING_JUDGED, ExitStatus
from ltocompat.cli.options import FindingFormat
from ltocompat.cli.output import Output, answer, choose, terminal_width
from ltocompat.report import Failure, Options

if TYPE_CHECKING:
    from ltocompat.model.diff import Diff, DiffSummary

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
    """Say what moved between two releases: architectures, makers, floors, sizes, kernels.

    Files are compared with those of the same name, whatever version it carries. Of saved JSON
    (inspect --kernels --format json) only what it holds is compared.
    """

    def records(outcome: ExitStatus, output: Output) -> Iterable[Diff | Failure]:
        words = _forbidden(forbid or ())
        from ltocompat.commands.diff import diff as compare

        def work(_: str) -> Iterator[Diff]:
            found = compare(old, new, kernels=kernels, progress=output.progress)
            found = replace(found, forbidden=words)
            outcome.worsen(_code(found))
            yield found

        return outcome.each(["both"], work)

    from ltocompat.report.verbs.diff import REPORT

    return answer(form, REPORT, Options(width=terminal_width()), records, (old, new))


def _forbidden(given: Sequence[str]) -> tuple[str, ...]:
    words = (word.strip() for text in given for word in text.split(","))
    return tuple(dict.fromkeys(choose("--forbid", word, _WORDS) for word in words))


def _code(found: Diff) -> int:
    """What a comparison lets the command end in, unless something else is worse."""
    sides = (found.old, found.new)
    if found.broken:
        return FINDINGS
    if not any(side.modules for side in sides):
        return NOTHING_JUDGED
    if found.forbidden and any(_unread(side) for side in sides):
        return NOTHING_JUDGED  # that nothing forbidden was seen there doesn't say that it is not
    return 0


def _unread(side: DiffSummary) -> bool:
    return not side.complete or (not side.modules and side.skipped > 0)
