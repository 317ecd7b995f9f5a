"""``ltocompat diff``."""

from __future__ import annotations

from ltocompat.cli.options import FindingFormat
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import DiffOptions
from ltocompat.report.exit_status import ExitStatus, of_diff


@verb
def diff(*, options: DiffOptions, form: FindingFormat = ()) -> int:
    """Show what changed between two releases of a package or file.

    For example: ltocompat diff old.whl new.whl --forbid lost-arch

    The answer covers architectures, toolkits, the minimum versions of the driver and nvJitLink,
    sizes and kernels. Files are matched by name, without versions. Saved JSON of inspect (--kernels
    --format json) has no metadata to compare.
    """
    from ltocompat.commands import diff as command
    from ltocompat.report.verbs.diff import REPORT

    writing = in_format(form, REPORT, inputs=(options.old, options.new))
    return run_verb(command.run, options, writing, ExitStatus(of_diff))
