"""`ltocompat/explain/v1`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ltocompat.model import explained
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Document,
    Failure,
    Record,
    published,
    published_unchanged,
)
from ltocompat.model.version import rule_url

published_unchanged(explained.AtFault)


@published(explained.Explained)
class Rule(Record):
    """One rule of the catalogue, or a topic.

    Attributes:
        statement: The rule, in full sentences. For a rule that ltocompat doesn't check: why not.
            For a topic: its explanation.
        messages: The texts that users see.
        url: The page of the rule.
        built: True if verdicts use the rule; else only id, title and statement are given.
        matched: The part of the given text that is a message of the rule; null if the ID of the
            rule was given.
        score: The fraction of the given text that matches the rule, from 0 to 1.
        line: The line of the given text where the message begins, copied exactly.
        cause: The cause. Null if the ID of the rule was given, or if the previous rule has the same
            message.
        fix: The fix for that cause.
        check: A command that shows the cause.
        values: Names and versions in the given text, and facts about them. For a CUDA release in
            the text, such a fact is its minimum driver.
        here: The machine, if --here was given; else null.
        also: Further rules with the same message, or about the topic.
        at_fault: The given files, or places in them, that cause the error.
    """

    source: str
    url: Annotated[str, From("id", rule_url)]
    score: Annotated[float, Meta(ge=0, le=1)]
    values: dict[str, str]


class Summary(Record):
    """The errors of the run."""

    errors: tuple[Failure, ...]


class Explain(Document, tag="ltocompat/explain/v1"):
    """Rules, best match first."""

    rules: tuple[Rule, ...]
    summary: Summary
