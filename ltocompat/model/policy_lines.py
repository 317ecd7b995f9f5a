"""Line numbers of the targets in a policy, for reports that lead there."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class PolicyLines(Struct, frozen=True):
    """Line numbers in a policy.

    Attributes:
        path: the file.
        targets: the line of each target's table, from 1, by its name.
        audit: the line of the table of the audit itself, else of the first target's.
    """

    path: str
    targets: Mapping[str, int] = field(default_factory=dict)
    audit: int = 1

    def line(self, target: str) -> int:
        """The line that a finding on this target is about."""
        return self.targets.get(target, self.audit)
