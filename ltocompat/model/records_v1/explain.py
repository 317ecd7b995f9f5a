"""`ltocompat/explain/v1`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ltocompat.model import explained
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import (
    Document,
    Record,
    RunSummary,
    published,
    published_unchanged,
)
from ltocompat.model.version import rule_url

published_unchanged(explained.AtFault)


@published(explained.Explained)
class Rule(Record):
    """One rule of the catalogue, or a topic.

    Attributes:
        statement: The rule, in full sentences. If ltocompat doesn't check the rule, the reason why
            not. For a topic, its explanation.
        messages: The texts that users see.
        url: The page of the rule.
        built: True if ltocompat checks this rule. Otherwise, only id, title and statement are
            filled in.
        matched: The part of the given text that matches a message of the rule; null if the text was
            an ID.
        score: The fraction of the given text that matches the rule, from 0 to 1.
        line: The line of the given text where the message begins, copied exactly.
        cause: The cause. Null if the ID of the rule was given, or if the message is the same as for
            the previous rule.
        fix: The fix for that cause.
        check: A command that shows the cause.
        values: Names and versions in the given text, and facts about them. If the text names a CUDA
            release, one such fact is the minimum driver for this release.
        here: The machine, if --here was given; else null.
        also: IDs of other rules that have the same message or cover the same topic.
        at_fault: Those of the given files that cause the error, or the places in these files.
    """

    source: str
    url: Annotated[str, From("id", rule_url)]
    score: Annotated[float, Meta(ge=0, le=1)]
    values: dict[str, str]


class Summary(RunSummary):
    """The errors of the run."""


class Explain(Document, tag="ltocompat/explain/v1"):
    """Rules, the best match first."""

    rules: tuple[Rule, ...]
    summary: Summary
