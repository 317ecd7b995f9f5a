"""``ltocompat diff``."""

from __future__ import annotations

from ltocompat.cli.options import FindingFormat
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import DiffOptions
from ltocompat.report.exit_status import ExitStatus, of_diff


@verb
def diff(*, options: DiffOptions, form: FindingFormat = ()) -> int:
    """Say what moved between two releases of a package or file.

    For example: ltocompat diff old.whl new.whl --forbid lost-arch

    Compared are architectures, makers, least driver and nvJitLink, sizes and kernels.

    Files are compared with those of the same name, whatever version it carries. Of saved JSON
    (inspect --kernels --format json) only what it holds is compared.
    """
    from ltocompat.commands import diff as command
    from ltocompat.report.verbs.diff import REPORT

    writing = in_format(form, REPORT, inputs=(options.old, options.new))
    return run_verb(command.run, options, writing, ExitStatus(of_diff))
