"""What reports say of rules; one outside of the catalogue, such as of a policy, says nothing."""

from __future__ import annotations

import functools

from ltocompat.rules.catalogue import RULES
from ltocompat.rules.rule import Rule


@functools.cache
def known() -> dict[str, Rule]:
    """The rules of the catalogue by ID, in its order."""
    return {rule.id: rule for rule in RULES}


def title_of(rule_id: str) -> str:
    """What is wrong, in a few words; empty for a rule outside of the catalogue."""
    rule = known().get(rule_id)
    return "" if rule is None else rule.title
