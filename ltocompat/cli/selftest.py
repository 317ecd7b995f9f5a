"""``ltocompat selftest``."""

from __future__ import annotations

from ltocompat.cli.options import Format
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import SelfTestOptions
from ltocompat.report.exit_status import SelfTestStatus


@verb
def selftest(*, options: SelfTestOptions, form: Format = ()) -> int:
    """Compile, link, load and run a kernel here; show what fails.

    For example: ltocompat selftest --nvjitlink 12.4

    NVRTC compiles two translation units, nvJitLink links them, and every GPU runs the result. This
    happens once with PTX and once with LTO-IR, and selftest compares the results. Without a GPU,
    selftest ends after the link. To call NVRTC and the driver, ltocompat needs cuda-python (pip
    install 'ltocompat[gpu]'). Exit code 1: a step failed; 4: something is missing.
    """
    from ltocompat.commands import selftest as command
    from ltocompat.report.verbs.selftest import REPORT

    return run_verb(command.run, options, in_format(form, REPORT), SelfTestStatus())
