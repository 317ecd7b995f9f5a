"""``ltocompat selftest``."""
# ruff: noqa: FBT002 - typer calls a verb by keyword

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ltocompat.cli.exit_status import FINDINGS, MISSING, ExitStatus
from ltocompat.cli.options import Format, InstallMissing
from ltocompat.cli.output import Output, answer, terminal_width
from ltocompat.report import Failure, Options
from ltocompat.report.verbs.selftest import REPORT

if TYPE_CHECKING:
    from ltocompat.commands.selftest import SelfTestStep


def selftest(
    nvjitlink: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="nvJitLink to link with: 12.4, 12.4.127 or a path (default: the one that programs "
            "of this Python get, else the newest installed for trials).",
        ),
    ] = None,
    install_nvjitlink: InstallMissing = False,
    form: Format = None,
) -> int:
    """Compile, link, load and run on this machine, as PTX and as LTO, and say where it stops.

    Two translation units go through the NVRTC and the nvJitLink at hand, the driver, and every
    GPU; the numbers that come back are compared. Without a GPU it ends after linking. All
    libraries are loaded in processes of their own. Exit code 1 says that a step failed, 4 that
    something is missing.
    """

    def records(outcome: ExitStatus, _: Output) -> Iterable[SelfTestStep | Failure]:
        from ltocompat.commands.selftest import SelfTestResult
        from ltocompat.commands.selftest import selftest as test

        codes = {SelfTestResult.FAILED: FINDINGS, SelfTestResult.MISSING: MISSING}

        def work(_: str) -> Iterator[SelfTestStep]:
            steps = list(test(nvjitlink=nvjitlink, install_missing=install_nvjitlink))
            results = {step.result for step in steps}
            # A step that failed is the news, also where something else is missing.
            worst = (
                SelfTestResult.FAILED
                if SelfTestResult.FAILED in results
                else SelfTestResult.MISSING
            )
            if worst in results:
                outcome.worsen(codes[worst])
            yield from steps

        return outcome.each(["all of it"], work)

    return answer(form, REPORT, Options(width=terminal_width()), records)
