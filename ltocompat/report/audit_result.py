"""All that an audit found, as one value, for reports that begin with the outcome."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from ltocompat.commands.audit import AuditScope
from ltocompat.commands.audit_tally import AuditTally
from ltocompat.commands.policy.baseline import Baseline
from ltocompat.commands.policy.gate import Audited
from ltocompat.commands.policy.values import Policy
from ltocompat.model.requirement import Required
from ltocompat.report import Failure

AuditRecord = AuditScope | Audited | Required | Failure
"""What the command yields: the first says what the others are held to."""


class Audit(Struct, frozen=True):
    """All that an audit found.

    Attributes:
        scope: what it was held to.
        tally: what it comes to.
        audits: the results.
    """

    scope: AuditScope
    tally: AuditTally
    audits: list[Audited] = field(default_factory=list)

    @classmethod
    def of(cls, records: Iterable[AuditRecord]) -> Audit:
        """All records of the command."""
        stream = iter(records)
        scope = scope_of(stream)
        audit = cls(scope, AuditTally(scope))
        for record in stream:
            if isinstance(record, AuditScope):
                continue
            audit.tally.take(record)
            if isinstance(record, Audited):
                audit.audits.append(record)
        return audit

    @property
    def policy(self) -> Policy:
        """What it was held to."""
        return self.scope.policy

    @property
    def baseline(self) -> Baseline:
        """What was known."""
        return self.scope.baseline


def scope_of(stream: Iterable[AuditRecord]) -> AuditScope:
    """What the audit is held to, which is its first record.

    Raises:
        TypeError: it is not.
    """
    scope = next(iter(stream), None)
    if not isinstance(scope, AuditScope):
        raise TypeError("an audit begins with what it is held to")
    return scope
