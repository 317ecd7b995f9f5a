"""The answer of ``audit`` as ``ltocompat/audit/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import asdict

from ltocompat.commands.audit import AuditScope
from ltocompat.commands.audit_tally import AuditTally, Outcome
from ltocompat.commands.policy.gate import Assessed, Audited, Standing
from ltocompat.commands.policy.values import Ignore, Policy
from ltocompat.model.records_v1 import audit as v1
from ltocompat.model.records_v1 import check as v1_check
from ltocompat.model.records_v1 import verdict
from ltocompat.model.row import text_or_none
from ltocompat.packages.promise import Promise
from ltocompat.report import Failure, Options
from ltocompat.report.audit_result import AuditRecord, scope_of
from ltocompat.report.formats.jsonstream import Rows
from ltocompat.report.verbs.check_json import (
    Tally,
    result_value,
    target_value,
)


def document(records: Iterable[AuditRecord], _: Options) -> Iterator[str]:
    """The pieces of the JSON document, as the results come."""
    stream = iter(records)
    scope = scope_of(stream)
    policy = _policy(scope.policy)
    targets = {target.name: target for target in scope.policy.every_target}
    audit_tally, tally = AuditTally(scope), Tally()
    rows = Rows(v1.Audit, "results")
    for record in stream:
        if isinstance(record, AuditScope):
            continue
        audit_tally.take(record)
        if isinstance(record, Failure):
            rows.failures.append(record)
        elif isinstance(record, Audited) and tally.add(record.result):
            targets.setdefault(record.result.target.name, record.result.target)
            yield from rows.row(_result(record), policy=policy)
    summary = _summary(scope, audit_tally, tally.value(rows.failures))
    values = tuple(map(target_value, targets.values()))
    whole = v1.Audit(policy, (), values, summary)
    yield from rows.end(whole, empty=bool(tally.empty), policy=policy)


def _summary(scope: AuditScope, tally: AuditTally, summary: v1_check.Summary) -> v1.Summary:
    standings = {str(standing): tally.standings[standing] for standing in Standing}
    return v1.Summary(
        **asdict(summary),
        passed=tally.outcome is Outcome.PASSED,
        outcome=str(tally.outcome),
        findings=v1.Findings(**standings),
        baseline=scope.baseline.source or None,
        unused_ignores=tuple(map(_ignore, tally.unused_ignores)),
    )


def _result(audited: Audited) -> v1.Result:
    value = result_value(audited.result)
    pairs = zip(value.findings, audited.assessed, strict=True)
    findings = tuple(_finding(finding, assessed) for finding, assessed in pairs)
    return v1.Result(
        **asdict(value) | {"findings": findings}, failed=audited.failed, undecided=audited.undecided
    )


def _finding(finding: verdict.Finding, assessed: Assessed) -> v1.Finding:
    return v1.Finding(
        **asdict(finding),
        standing=str(assessed.standing),
        fingerprint=assessed.fingerprint,
        ignore=None if assessed.ignore is None else _ignore(assessed.ignore),
    )


def _ignore(ignore: Ignore) -> v1.Ignore:
    return v1.Ignore(
        key=ignore.key,
        rule=ignore.rule,
        path=ignore.path,
        target=ignore.target,
        kernel=ignore.kernel,
        reason=ignore.reason,
        expires=ignore.expires,
    )


def _policy(policy: Policy) -> v1.Policy:
    return v1.Policy(
        source=policy.source,
        fail_on=str(policy.fail_on),
        require_gpus=tuple(gpu.name for gpu in policy.require_gpus),
        require_archs=tuple(map(str, policy.require_archs)),
        least_driver=text_or_none(policy.least_driver),
        allow_empty=policy.allow_empty,
        trial_links=policy.trial_links,
        trial_releases=tuple(map(str, policy.trial_releases)),
        trial_load=policy.trial_load,
        promise=None if policy.promise is None else _promise(policy.promise),
        ignores=tuple(_ignore(ignore) for ignore in policy.ignores),
        variants=policy.variants or (),
        provided_by=dict(policy.provided_by),
    )


def _promise(promise: Promise) -> v1.Promise:
    return v1.Promise(
        sass=tuple(map(str, promise.sass)),
        ptx=tuple(map(str, promise.ptx)),
        driver=text_or_none(promise.driver),
        nvjitlink=text_or_none(promise.nvjitlink),
    )
