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
    told = [one for one in audit.audits if tally.add(one.result)]
    if audit.failures and not audit.audits:
        yield error_document(audit.failures)
        return
    rows = Array()
    targets = [target_value(one) for one in audit.targets]
    yield head(SCHEMA, "results", policy=_policy(audit.policy), targets=targets)
    for one in told:
        yield rows.element(f"  {encode(_result(one))}")
    standings = Counter(said.standing for one in told for said in one.assessed)
    summary = tally.value(audit.failures)
    summary["passed"] = not audit.failed and not audit.undecided
    summary["findings"] = {str(one): standings[one] for one in Standing}
    summary["baseline"] = audit.baseline.source or None
    summary["unused_ignores"] = [_ignore(one) for one in unused(audit.policy, audit.audits)]
    yield from tail(summary=summary)


def _result(one: Audited) -> dict[str, object]:
    value = result_value(one.result)
    pairs = zip(one.result.findings, one.assessed, strict=True)
    said = [_assessed(assessed) for _, assessed in pairs]
    listed = value["findings"]
    findings = listed if isinstance(listed, list) else []
    value["findings"] = [{**row, **more} for row, more in zip(findings, said, strict=True)]
    value["failed"] = one.failed
    return value


def _assessed(said: Assessed) -> dict[str, object]:
    ignore = None if said.ignore is None else _ignore(said.ignore)
    return {"standing": str(said.standing), "fingerprint": said.fingerprint, "ignore": ignore}


def _ignore(one: Ignore) -> dict[str, str]:
    return {
        "key": one.key,
        "rule": one.rule,
        "path": one.path,
        "target": one.target,
        "reason": one.reason,
        "expires": one.expires.isoformat(),
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
        "ignores": [_ignore(one) for one in policy.ignores],
    }
