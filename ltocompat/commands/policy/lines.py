"""Where in a policy its targets stand, for reports that lead there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ltocompat.commands.policy.values import Policy
from ltocompat.model.errors import UsageError
from ltocompat.targets.text_file import read_text


@dataclass(frozen=True, slots=True)
class PolicyLines:
    """Where in a policy things stand.

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


def policy_lines(policy: Policy) -> PolicyLines | None:
    """Where the targets of a policy stand in its file; None where that can't be read any more."""
    try:
        text = read_text(policy.source)
    except UsageError:
        return None
    headers = {
        header[1].replace('"', "").replace("'", "").replace(" ", ""): number
        for number, line in enumerate(text.splitlines(), 1)
        if (header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line))
    }
    names = (target.name for target in policy.targets)
    found = {name: f"{policy.prefix}targets.{name}".replace(" ", "") for name in names}
    targets = {name: headers[header] for name, header in found.items() if header in headers}
    first = min(targets.values(), default=1)
    return PolicyLines(policy.source, targets, headers.get(f"{policy.prefix}audit", first))
