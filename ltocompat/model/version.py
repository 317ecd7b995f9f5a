"""The version of this program (read by the build too), and where the project is found."""

from __future__ import annotations

VERSION = "0.1.0"


PROJECT_URL = ""
"""The root of the project's files, with a slash at its end; empty until they have one address."""

RULES_URL = f"{PROJECT_URL}docs/rules.md#"
"""What the address of a rule begins with."""


def rule_url(rule_id: str) -> str:
    """Where a rule is documented: ``docs/rules.md#ptx-01``, below the address of the project."""
    return f"{RULES_URL}{rule_id.lower()}"
