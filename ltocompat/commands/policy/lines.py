"""Finds where in a policy its targets stand."""

from __future__ import annotations

import re

from ltocompat.commands.policy.values import Policy
from ltocompat.model.errors import UsageError
from ltocompat.model.target import PolicyLines
from ltocompat.targets.text_file import read_text


def policy_lines(policy: Policy) -> PolicyLines | None:
    """Return the lines of a policy's targets in its file; None if it can't be read any more."""
    try:
        text = read_text(policy.source)
    except UsageError:
        return None
    headers = {
        header[1].replace('"', "").replace("'", "").replace(" ", ""): number
        for number, line in enumerate(text.splitlines(), 1)
        if (header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line))
    }
    found = {t.name: f"{policy.prefix}targets.{t.name}".replace(" ", "") for t in policy.targets}
    targets = {name: headers[header] for name, header in found.items() if header in headers}
    first = min(targets.values(), default=1)
    return PolicyLines(policy.source, targets, headers.get(f"{policy.prefix}audit", first))
