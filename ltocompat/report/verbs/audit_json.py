"""The answer of ``audit`` as ``ltocompat/audit/v1``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import asdict

from ltocompat.commands.policy.gate import Assessed, Audited, Standing, unused
from ltocompat.commands.policy.values import Ignore, Policy
from ltocompat.model.records_v1 import audit as v1
from ltocompat.model.records_v1 import verdict
from ltocompat.packages.promise import Promise
from ltocompat.report import Options
from ltocompat.report.audit_result import Audit
from ltocompat.report.formats.jsonstream import (
    Array,
    encode,
    error_document,
    head,
    optional_text,
    tail,
)
from ltocompat.report.verbs.check_json import (
    Tally,
    result_value,
    target_value,
)


def document(audit: Audit, _: Options) -> Iterator[str]:
    """The pieces of the JSON document."""
    tally = Tally()
    auditeds = [each_audit for each_audit in audit.audits if tally.add(each_audit.result)]
    if audit.failures and not audit.audits:
        yield error_document(audit.failures)
        return
    rows = Array()
    policy = _policy(audit.policy)
    targets = tuple(target_value(target) for target in audit.targets)
    yield head(v1.Audit, "results", policy=policy, targets=targets)
    for audited in auditeds:
        yield rows.element(f"  {encode(_result(audited))}")
    summary = _summary(audit, auditeds, tally)
    yield from tail(v1.Audit(policy, targets, (), summary), "results")


def _summary(audit: Audit, auditeds: Sequence[Audited], tally: Tally) -> v1.Summary:
    standings = Counter(
        assessed.standing for each_audited in auditeds for assessed in each_audited.assessed
    )
    ignores = unused(audit.policy, audit.audits)
    return v1.Summary(
        **asdict(tally.value(audit.failures)),
        passed=not audit.failed and not audit.undecided,
        findings=v1.Findings(**{str(standing): standings[standing] for standing in Standing}),
        baseline=audit.baseline.source or None,
        unused_ignores=tuple(_ignore(ignore) for ignore in ignores),
    )


def _result(audited: Audited) -> v1.Result:
    value = result_value(audited.result)
    pairs = zip(value.findings, audited.assessed, strict=True)
    findings = tuple(_finding(finding, assessed) for finding, assessed in pairs)
    return v1.Result(**asdict(value) | {"findings": findings}, failed=audited.failed)


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
        reason=ignore.reason,
        expires=ignore.expires,
    )


def _policy(policy: Policy) -> v1.Policy:
    return v1.Policy(
        source=policy.source,
        fail_on=str(policy.fail_on),
        require_archs=tuple(map(str, policy.require_archs)),
        least_driver=optional_text(policy.least_driver),
        allow_empty=policy.allow_empty,
        trial_links=policy.trial_links,
        trial_releases=tuple(map(str, policy.trial_releases)),
        promise=None if policy.promise is None else _promise(policy.promise),
        ignores=tuple(_ignore(ignore) for ignore in policy.ignores),
    )


def _promise(promise: Promise) -> v1.Promise:
    return v1.Promise(
        sass=tuple(map(str, promise.sass)),
        ptx=tuple(map(str, promise.ptx)),
        driver=optional_text(promise.driver),
        nvjitlink=optional_text(promise.nvjitlink),
    )
