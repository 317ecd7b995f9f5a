"""``ltocompat audit``."""

from __future__ import annotations

from msgspec.structs import replace

from ltocompat.cli.options import FindingFormat, GateOptions, Shown
from ltocompat.cli.run_verb import in_format, run_verb
from ltocompat.cli.verb import verb
from ltocompat.commands.options import AuditOptions
from ltocompat.report.exit_status import AuditStatus


@verb
def audit(
    *, options: AuditOptions, shown: Shown, typed: GateOptions, form: FindingFormat = ()
) -> int:
    """Check packages against the project's policy before a release.

    For example: ltocompat audit dist/*.whl --format github

    The policy names deploy targets, GPUs and drivers. With or without a policy, audit compares
    package metadata with the contents.
    """
    least = typed.verdict()
    from ltocompat.commands import audit as command
    from ltocompat.report.verbs.audit import REPORT

    writing = in_format(form, REPORT, shown.view(), options.paths)
    options = replace(options, outputs=writing.files, fail_on=least, limits=typed.limits())
    return run_verb(command.run, options, writing, AuditStatus())
