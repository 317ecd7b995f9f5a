"""``ltocompat inspect``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.cli.options import QUIET, VERBOSE, ImageChoice, ListFormat, Sandbox
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import InspectOptions, Option
from ltocompat.model.errors import UsageError
from ltocompat.report import Options
from ltocompat.report.exit_status import ExitStatus, ReadingStatus, of_weight
from ltocompat.report.image_summary import GROUPS


class Rows(Struct, frozen=True):
    """The rows of the answer.

    Attributes:
        by: Group the summary by this property (default: by kind and maker).
        images: One row per image, in file order, instead of the summary.
        weigh: Show the size of each kind of code, and how many bytes could be saved.
    """

    by: Annotated[str | None, Option(choices=tuple(GROUPS))] = None
    images: Annotated[bool, Option()] = False
    weigh: Annotated[bool, Option(after="hashes")] = False


class Typed(Sandbox, frozen=True):
    """Options that only the command line has, besides the rows.

    Attributes:
        quiet: Show two lines per artifact, without tables.
        verbose: Also show the evidence for the libraries that a file needs.
    """

    quiet: Annotated[bool, Option(flags=QUIET)] = False
    verbose: Annotated[bool, Option(flags=VERBOSE)] = False


@verb
def inspect(
    *, rows: Rows, choice: ImageChoice, options: InspectOptions, typed: Typed, form: ListFormat = ()
) -> int:
    """List the LTO-IR, PTX and SASS in files, and the tools that made them.

    For example: ltocompat inspect libx.so --by arch

    Nothing is guessed: an image that names no tool is "made by unknown".
    """
    by, listed = rows.by, rows.images or options.hashes
    if by is not None and listed:
        raise UsageError(
            "--by is for the summary, but --images and --hash show no summary; leave out --by"
        )
    if options.keep_gpus and not rows.weigh:
        raise UsageError("--keep-gpu makes --weigh show what slim would save; add --weigh")
    where = choice.filter()
    options = replace(options, where=where)
    view = Options(
        by=by or "kind",
        images=listed,
        kernels=options.kernels,
        named=frozenset(map(str, options.paths)),
        quiet=typed.quiet,
        why=typed.verbose,
    )
    if rows.weigh:
        if listed or by is not None or where or options.trial_link:
            raise UsageError(
                "--weigh counts all images of a path; leave out --by, --images, --hash, --kind, "
                "--arch, --made-by and --trial-link"
            )
        from ltocompat.commands import weigh as weigh_command
        from ltocompat.report.verbs import weigh as weigh_report

        writing = in_format(form, weigh_report.REPORT, view, map(str, options.paths))
        return run_verb(weigh_command.run, options, writing, ExitStatus(of_weight))
    from ltocompat.commands import inspect as command
    from ltocompat.report.verbs.inspect import REPORT

    writing = in_format(form, REPORT, view, map(str, options.paths))
    return run_verb(command.run, options, writing, ReadingStatus(filtered=where is not None))
