"""What the records of an audit come to, counted as they pass."""

from __future__ import annotations

import enum
from collections import Counter

from ltocompat.commands.audit import AuditScope
from ltocompat.commands.policy.gate import Audited, Standing
from ltocompat.commands.policy.values import Ignore
from ltocompat.model.failure import Failure
from ltocompat.model.requirement import Required


class Outcome(enum.StrEnum):
    """What an audit comes to."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"


class AuditTally:
    """Whether an audit failed, or could not decide.

    Args:
        scope: what the results are held to.

    Attributes:
        failed: something counts.
        standings: how many findings stand where.
        failures: paths that gave no answer.
    """

    def __init__(self, scope: AuditScope) -> None:
        self.failed = False
        self.standings: Counter[Standing] = Counter()
        self._scope = scope
        self._used: set[Ignore] = set()
        self.failures: list[Failure] = []
        self._undecided = False
        self._holds_nothing = True

    def take(self, record: Audited | Required | Failure) -> None:
        """Count a record."""
        if isinstance(record, Failure):
            self.failures.append(record)
        elif isinstance(record, Audited):
            self._take_result(record)

    def _take_result(self, audited: Audited) -> None:
        self.failed |= audited.failed
        self._undecided |= audited.undecided
        self._holds_nothing &= audited.result.holds_nothing
        self.standings.update(assessed.standing for assessed in audited.assessed)
        self._used.update(assessed.ignore for assessed in audited.assessed if assessed.ignore)

    @property
    def empty(self) -> bool:
        """There is no device code, and nothing unread that may hold some."""
        return self._holds_nothing and not self.failures

    @property
    def undecided(self) -> bool:
        """A verdict was asked for, and none could be given."""
        policy = self._scope.policy
        if self.empty and (policy.given or self._scope.no_files) and not policy.allow_empty:
            return True
        return self._undecided or bool(self.failures)

    @property
    def outcome(self) -> Outcome:
        """The answer in a word."""
        if self.failed:
            return Outcome.FAILED
        return Outcome.UNDECIDED if self.undecided else Outcome.PASSED

    @property
    def unused_ignores(self) -> tuple[Ignore, ...]:
        """The ignores of the policy that nothing needed so far."""
        return tuple(ignore for ignore in self._scope.policy.ignores if ignore not in self._used)
