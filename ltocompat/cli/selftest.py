"""``ltocompat selftest``."""

from __future__ import annotations

from ltocompat.cli.options import Format
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import SelfTestOptions
from ltocompat.report.exit_status import SelfTestStatus


@verb
def selftest(*, options: SelfTestOptions, form: Format = ()) -> int:
    """Compile, link, load and run here, and say where it stops.

    For example: ltocompat selftest --nvjitlink 12.4

    That is done with PTX and with LTO-IR.

    Two translation units go through the NVRTC and the nvJitLink at hand, the driver, and every
    GPU; the numbers that come back are compared. Without a GPU it ends after linking. All
    libraries are loaded in processes of their own, NVRTC and the driver through cuda-python (pip
    install 'ltocompat[gpu]'). Exit code 1 says that a step failed, 4 that something is missing.
    """
    from ltocompat.commands import selftest as command
    from ltocompat.report.verbs.selftest import REPORT

    return run_verb(command.run, options, in_format(form, REPORT), SelfTestStatus())
