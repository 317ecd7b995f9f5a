"""``ltocompat link``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.cli.options import KIND, FindingFormat, ImageChoice, Sandbox
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import LinkOptions, Option
from ltocompat.report.exit_status import ExitStatus, of_link


class Shorthand(Struct, frozen=True):
    """Shorter words for a choice of linkers and images.

    Attributes:
        nvjitlink: The nvJitLink to link with: 12.4, 12.4.127 or a path. Repeatable, to compare
            (default: the newest).
    """

    nvjitlink: Annotated[tuple[str, ...], Option(metavar="VERSION", after="linkers")] = ()
    kind: Annotated[tuple[str, ...], replace(KIND, after="add_only")] = ()


@verb
def link(
    *,
    options: LinkOptions,
    short: Shorthand,
    sandbox: Sandbox,  # noqa: ARG001 - trials read it out of their environment
    form: FindingFormat = (),
) -> int:
    """Link inputs with real linkers and show result, time and size.

    For example: ltocompat link a.ltoir b.ltoir --arch sm_90

    Each linker links the inputs with link-time optimisation. If the inputs
    have PTX or SASS, each linker also links them without this optimisation. No GPU and no
    driver are needed. Exit code 1: a link did not succeed.
    """
    where = ImageChoice(kind=short.kind).filter()
    from ltocompat.commands import link as command
    from ltocompat.report.verbs.link import REPORT

    linkers = (*options.linkers, *(f"nvjitlink={version}" for version in short.nvjitlink))
    options = replace(options, linkers=linkers, where=where)
    writing = in_format(form, REPORT, inputs=options.places)
    return run_verb(command.run, options, writing, ExitStatus(of_link))
