"""What the records of an audit come to, counted as they pass."""

from __future__ import annotations

from collections import Counter

from ltocompat.commands.audit import AuditScope
from ltocompat.commands.policy.gate import Audited, Standing
from ltocompat.commands.policy.values import PolicyException
from ltocompat.model.failure import Failure
from ltocompat.model.requirement import Required
from ltocompat.model.verdict import Outcome, Verdict, outcome, worst


class AuditTally:
    """Whether an audit failed, or could not decide.

    Args:
        scope: what the results are held to.

    Attributes:
        standings: how many findings stand where.
        failures: paths that gave no answer.
    """

    def __init__(self, scope: AuditScope) -> None:
        self.standings: Counter[Standing] = Counter()
        self._scope = scope
        self._used: set[PolicyException] = set()
        self.failures: list[Failure] = []
        self._worst = Verdict.NOT_FOR_GPU

    def take(self, record: Audited | Required | Failure) -> None:
        """Count a record."""
        if isinstance(record, Failure):
            self.failures.append(record)
        elif isinstance(record, Audited):
            self._take_result(record)

    def _take_result(self, audited: Audited) -> None:
        self._worst = worst((self._worst, audited.counted))
        self.standings.update(assessed.standing for assessed in audited.assessed)
        self._used.update(each.exception for each in audited.assessed if each.exception)

    @property
    def empty(self) -> bool:
        """There is no device code, and nothing unread that may hold some."""
        return self._worst is Verdict.NOT_FOR_GPU and not self.failures

    @property
    def outcome(self) -> Outcome:
        """The answer in a word; what can't be read may hold device code."""
        policy = self._scope.policy
        allow_empty = policy.allow_empty or not policy.given
        found = outcome(self._worst, Verdict.FAIL, allow_empty=allow_empty)
        unread = self.failures and found is Outcome.PASSED
        return Outcome.UNDECIDED if unread else found

    @property
    def unused(self) -> tuple[PolicyException, ...]:
        """The exceptions of the policy that nothing needed so far."""
        return tuple(each for each in self._scope.policy.exceptions if each not in self._used)
