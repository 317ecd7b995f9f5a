"""``ltocompat audit``."""
# ruff: noqa: FBT002, PLR0917 - typer calls a verb by keyword

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltocompat.cli.exit_status import FINDINGS, NOTHING_JUDGED, ExitStatus, guarded
from ltocompat.cli.formats import FormatRequest, read_formats, refuse_to_replace, write_all
from ltocompat.cli.options import (
    AllowEmpty,
    Beside,
    FindingFormat,
    InstallMissing,
    NoCache,
    Strict,
    TrialLink,
)
from ltocompat.cli.output import Output, terminal_width
from ltocompat.cli.verdict_gate import FAIL_ON, threshold
from ltocompat.model.errors import UsageError
from ltocompat.report import FINDING_FORMATS, Failure, Options

if TYPE_CHECKING:
    from ltocompat.commands.policy.baseline import Baseline
    from ltocompat.commands.policy.gate import Audited
    from ltocompat.commands.policy.values import Policy
    from ltocompat.model.errors import LtocompatError
    from ltocompat.model.requirement import Required
    from ltocompat.report.audit_result import Audit

DIST = os.path.join("dist", "*")


def audit(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH...]",
            help=f"Packages, libraries, folders or places (default: {DIST}).",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The policy (default: the nearest ltocompat.toml, or pyproject.toml with "
            "[tool.ltocompat]; without one, what holds on any target is judged).",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Findings that are known and don't fail."),
    ] = None,
    write_baseline: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write what is found today as such a file."),
    ] = None,
    trial_link: TrialLink = False,
    beside: Beside = None,
    install_nvjitlink: InstallMissing = False,
    no_cache: NoCache = False,
    allow_empty: AllowEmpty = False,
    strict: Strict = False,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(FAIL_ON),
            help="The mildest verdict that ends in exit code 1 (default: the policy's, else fail).",
            autocompletion=lambda: list(FAIL_ON),
        ),
    ] = None,
    form: FindingFormat = None,
) -> int:
    """Hold packages against the project's own deploy targets and promises, before a release."""
    output = Output()
    format_requests: list[FormatRequest] = []

    def work(outcome: ExitStatus) -> None:
        format_requests.extend(read_formats(form or (), FINDING_FORMATS))
        policy = _overridden(
            _policy(config), fail_on, strict=strict, trial_link=trial_link, allow_empty=allow_empty
        )
        files = _files(paths, policy)
        refuse_to_replace(format_requests, files)
        found = _find(
            outcome,
            files,
            policy,
            baseline=_known(baseline),
            beside=beside or (),
            install_missing=install_nvjitlink,
            cache=not no_cache,
            progress=output.progress,
        )
        if write_baseline is not None:
            found = _rebased(found, write_baseline, output)
        found = replace(found, no_files=not any(map(_holds_a_file, files)))
        _count(found, outcome)
        from ltocompat.report.verbs.audit import report

        options = Options(width=terminal_width())
        write_all(format_requests, report(found), found.judgements(), output, options)

    def json() -> bool:
        return not output.used and any(
            format_request == ("json", None) for format_request in format_requests
        )

    return guarded(work, json=json)


def _files(paths: Sequence[str] | None, policy: Policy) -> list[str]:
    """What to audit.

    Raises:
        UsageError: nothing was named, nothing was built, and that may not be.
    """
    files = list(paths or sorted(glob.glob(DIST)))
    if not files and not policy.allow_empty:
        raise UsageError(
            f"{DIST} holds nothing to audit; build first, name a package, or let that pass with "
            "--allow-empty"
        )
    return files


def _holds_a_file(path: str) -> bool:
    return not os.path.isdir(path) or any(names for _, _, names in os.walk(path))


def _policy(config: str | None) -> Policy:
    """The policy in the file that is named, else in the nearest, if there is one.

    Raises:
        UsageError: the file that is named has none, or there is a mistake in it.
    """
    from ltocompat.commands.policy.reading import nearest_policy, read_policy

    return nearest_policy() if config is None else read_policy(config)


def _overridden(
    policy: Policy, fail_on: str | None, *, strict: bool, trial_link: bool, allow_empty: bool
) -> Policy:
    """The policy of this run: options beat its keys.

    Raises:
        UsageError: an option has no meaning.
    """
    if fail_on is not None or strict:
        policy = replace(policy, fail_on=threshold(fail_on, strict=strict))
    if trial_link:  # as ``trial-links = true``: all the linkers that the targets name
        policy = replace(policy, trial_links=True, trial_releases=())
    return replace(policy, allow_empty=True) if allow_empty else policy


def _known(baseline: str | None) -> Baseline:
    from ltocompat.commands.policy.baseline import Baseline, read_baseline

    return Baseline() if baseline is None else read_baseline(baseline)


def _find(
    outcome: ExitStatus,
    files: Sequence[str],
    policy: Policy,
    *,
    baseline: Baseline,
    **options: Any,  # noqa: ANN401 - those of the use case
) -> Audit:
    """All that the audit finds; records are few, and several formats want all of them."""
    from ltocompat.commands.audit import audit as judge
    from ltocompat.commands.policy.gate import Audited
    from ltocompat.report.audit_result import Audit

    def judged(on_error: Callable[[LtocompatError], None]) -> Iterable[Audited | Required]:
        return judge(files, policy, baseline=baseline, on_error=on_error, **options)

    audits: list[Audited] = []
    required: list[Required] = []
    failures: list[Failure] = []
    for record in outcome.all_of(judged):
        if isinstance(record, Audited):
            audits.append(record)
        elif isinstance(record, Failure):
            failures.append(record)
        else:
            required.append(record)
    return Audit(policy, baseline, audits, required, failures)


def _rebased(found: Audit, path: str, output: Output) -> Audit:
    """Write a baseline; from then on all that it has is known."""
    from ltocompat.commands.policy.baseline import read_baseline, write_baseline
    from ltocompat.commands.policy.gate import audited
    from ltocompat.report.text import count

    number = write_baseline(path, [each_audit.not_ignored() for each_audit in found.audits])
    output.say(f"{count(number, 'finding')} written to {path}")
    baseline = read_baseline(path)
    audits = [audited(one.checked, found.policy, baseline) for one in found.audits]
    return replace(found, baseline=baseline, audits=audits)


def _count(found: Audit, outcome: ExitStatus) -> None:
    """What the findings make of the exit code."""
    if found.failed:
        outcome.worsen(FINDINGS)
    if found.undecided:
        outcome.worsen(NOTHING_JUDGED)
