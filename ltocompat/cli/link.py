"""``ltocompat link``."""

from __future__ import annotations

from typing import Annotated

from msgspec.structs import replace

from ltocompat.cli.options import KIND, FindingFormat, ImageChoice, Sandbox
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import LinkOptions, Option
from ltocompat.report.exit_status import ExitStatus, of_link


class Typed(Sandbox, frozen=True):
    """Options that only the command line has: shorter words for linkers and images.

    Attributes:
        nvjitlink: A nvJitLink to link with: 12.4, 12.4.127 or a path. Repeatable. The same as
            --linker nvjitlink=VERSION.
    """

    nvjitlink: Annotated[tuple[str, ...], Option(metavar="VERSION", after="linkers")] = ()
    kind: Annotated[tuple[str, ...], replace(KIND, after="add_only")] = ()


@verb
def link(*, options: LinkOptions, typed: Typed, form: FindingFormat = ()) -> int:
    """Link inputs with real linkers and show result, time and size.

    For example: ltocompat link a.ltoir b.ltoir --arch sm_90

    If the inputs have LTO-IR for the target, each linker links them with link-time optimisation
    (lto). If the inputs have PTX or SASS, each linker also makes a plain link, without this
    optimisation. Each link runs twice; the column "2nd time" shows the second run. No GPU and
    no driver are needed. Exit code 1: a link did not succeed.
    """
    where = ImageChoice(kind=typed.kind).filter()
    from ltocompat.commands import link as command
    from ltocompat.report.verbs.link import REPORT

    linkers = (*options.linkers, *(f"nvjitlink={version}" for version in typed.nvjitlink))
    options = replace(options, linkers=linkers, where=where)
    writing = in_format(form, REPORT, inputs=options.places)
    return run_verb(command.run, options, writing, ExitStatus(of_link))
