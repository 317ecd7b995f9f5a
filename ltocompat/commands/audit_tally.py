"""What the records of an audit come to, counted as they pass."""

from __future__ import annotations

from collections import Counter

from ltocompat.commands.audit import AuditScope
from ltocompat.commands.policy.gate import Audited, Standing
from ltocompat.commands.policy.values import Ignore
from ltocompat.model.failure import Failure
from ltocompat.model.requirement import Required
from ltocompat.model.verdict import Verdict


class AuditTally:
    """Whether an audit failed, or could not decide.

    Args:
        scope: what the results are held to.

    Attributes:
        failed: something counts.
        standings: how many findings stand where.
    """

    def __init__(self, scope: AuditScope) -> None:
        self.failed = False
        self.standings: Counter[Standing] = Counter()
        self._scope = scope
        self._used: set[Ignore] = set()
        self._judged = False
        self._unknown = False
        self._holds_nothing = True

    def take(self, record: Audited | Required | Failure) -> None:
        """Count a record."""
        if isinstance(record, Failure):
            self._holds_nothing = False  # what gave no answer may hold device code
        elif isinstance(record, Audited):
            self._take_result(record)

    def _take_result(self, audited: Audited) -> None:
        result = audited.result
        self.failed |= audited.failed
        self.standings.update(assessed.standing for assessed in audited.assessed)
        self._used.update(assessed.ignore for assessed in audited.assessed if assessed.ignore)
        self._judged |= result.judged
        self._holds_nothing &= result.holds_nothing
        self._unknown |= result.verdict is Verdict.UNKNOWN and not result.without_device_code

    @property
    def empty(self) -> bool:
        """There is no device code, and nothing unread that may hold some."""
        return self._holds_nothing

    @property
    def undecided(self) -> bool:
        """Verdicts were asked for, and none could be given."""
        policy = self._scope.policy
        if self.empty:
            return (policy.given or self._scope.no_files) and not policy.allow_empty
        return not self._judged if policy.given else self._unknown

    @property
    def passed(self) -> bool:
        """Something was judged, or may hold no device code, and nothing counts."""
        return not self.failed and not self.undecided

    @property
    def unused_ignores(self) -> tuple[Ignore, ...]:
        """Those of the policy that nothing needed so far."""
        return tuple(ignore for ignore in self._scope.policy.ignores if ignore not in self._used)
