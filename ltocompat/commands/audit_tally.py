"""What the results of an audit come to, counted as they pass."""

from __future__ import annotations

from ltocompat.commands.policy.gate import Audited
from ltocompat.commands.policy.values import Policy
from ltocompat.model.verdict import Verdict


class AuditTally:
    """Whether an audit failed, or could not decide.

    Args:
        policy: what the results are held to.
        no_files: there was no file at all.

    Attributes:
        failed: something counts.
    """

    def __init__(self, policy: Policy, *, no_files: bool) -> None:
        self.failed = False
        self._policy = policy
        self._no_files = no_files
        self._judged = False
        self._unknown = False
        self._holds_nothing = True

    def add(self, audited: Audited) -> None:
        """Count a result."""
        result = audited.result
        self.failed |= audited.failed
        self._judged |= result.judged
        self._holds_nothing &= result.holds_nothing
        self._unknown |= result.verdict is Verdict.UNKNOWN and not result.without_device_code

    def add_failure(self) -> None:
        """Count a path that gave no answer: it may hold device code."""
        self._holds_nothing = False

    @property
    def empty(self) -> bool:
        """There is no device code, and nothing unread that may hold some."""
        return self._holds_nothing

    @property
    def undecided(self) -> bool:
        """Verdicts were asked for, and none could be given."""
        if self.empty:
            return (self._policy.given or self._no_files) and not self._policy.allow_empty
        return not self._judged if self._policy.given else self._unknown
