"""The answer of ``audit`` as ``ltocompat/audit/v1``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ltocompat.commands.policy.gate import Assessed, Audited, Standing, unused
from ltocompat.commands.policy.values import Ignore, Policy
from ltocompat.report import Options
from ltocompat.report.audit_result import Audit
from ltocompat.report.formats.jsonstream import Array, encode, error_document, head, tail
from ltocompat.report.verbs.check_json import Tally, result_value, target_value

SCHEMA = "ltocompat/audit/v1"


def document(audit: Audit, _: Options) -> Iterator[str]:
    """The pieces of the JSON document."""
    tally = Tally()
    auditeds = [each_audit for each_audit in audit.audits if tally.add(each_audit.result)]
    if audit.failures and not audit.audits:
        yield error_document(audit.failures)
        return
    rows = Array()
    targets = [target_value(target) for target in audit.targets]
    yield head(SCHEMA, "results", policy=_policy(audit.policy), targets=targets)
    for audited in auditeds:
        yield rows.element(f"  {encode(_result(audited))}")
    standings = Counter(
        assessed.standing for each_audited in auditeds for assessed in each_audited.assessed
    )
    summary = tally.value(audit.failures)
    summary["passed"] = not audit.failed and not audit.undecided
    summary["findings"] = {str(standing): standings[standing] for standing in Standing}
    summary["baseline"] = audit.baseline.source or None
    summary["unused_ignores"] = [_ignore(ignore) for ignore in unused(audit.policy, audit.audits)]
    yield from tail(summary=summary)


def _result(audited: Audited) -> dict[str, object]:
    value = result_value(audited.result)
    pairs = zip(audited.result.findings, audited.assessed, strict=True)
    tableses = [_assessed(assessed) for _, assessed in pairs]
    listed = value["findings"]
    findings = listed if isinstance(listed, list) else []
    value["findings"] = [{**row, **more} for row, more in zip(findings, tableses, strict=True)]
    value["failed"] = audited.failed
    return value


def _assessed(assessed: Assessed) -> dict[str, object]:
    ignore = None if assessed.ignore is None else _ignore(assessed.ignore)
    return {
        "standing": str(assessed.standing),
        "fingerprint": assessed.fingerprint,
        "ignore": ignore,
    }


def _ignore(ignore: Ignore) -> dict[str, str]:
    return {
        "key": ignore.key,
        "rule": ignore.rule,
        "path": ignore.path,
        "target": ignore.target,
        "reason": ignore.reason,
        "expires": ignore.expires.isoformat(),
    }


def _policy(policy: Policy) -> dict[str, object]:
    promise = policy.promise
    return {
        "source": policy.source,
        "fail_on": str(policy.fail_on),
        "require_archs": list(map(str, policy.require_archs)),
        "least_driver": None if policy.least_driver is None else str(policy.least_driver),
        "allow_empty": policy.allow_empty,
        "trial_links": policy.trial_links,
        "trial_releases": list(map(str, policy.trial_releases)),
        "promise": None
        if promise is None
        else {
            "sass": list(map(str, promise.sass)),
            "ptx": list(map(str, promise.ptx)),
            "driver": None if promise.driver is None else str(promise.driver),
            "nvjitlink": None if promise.nvjitlink is None else str(promise.nvjitlink),
        },
        "ignores": [_ignore(ignore) for ignore in policy.ignores],
    }
