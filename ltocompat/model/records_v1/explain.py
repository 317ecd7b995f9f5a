"""`ltocompat/explain/v1`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ltocompat.model import explained
from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import Document, Failure, Record, published
from ltocompat.model.version import rule_url


@published(explained.AtFault)
class AtFault(Record):
    """A file at the given places that causes the error."""


@published(explained.Explained)
class Rule(Record):
    """One rule of the catalogue, or a topic.

    Attributes:
        statement: What holds; of a rule that is not built, why it isn't; of a topic, what it is.
        messages: The texts that users see.
        url: Its page.
        built: Verdicts go by it; else only id, title and statement are given.
        matched: The part of the text that is its message; null where the rule was named.
        score: How much of the text speaks for it.
        line: The line of the text that the message begins on, as it is there.
        cause: Why it happens; null where the rule was named, or shares another's message.
        fix: What to do about that cause.
        check: A command that shows it.
        values: What the text says, and what the tables make of it.
        here: This machine, where it was asked for; else null.
        also: Further rules with the same message, or about the topic.
        at_fault: Files at the given places that the rule speaks of.
    """

    source: str
    url: Annotated[str, From("id", rule_url)]
    score: Annotated[float, Meta(ge=0, le=1)]
    values: dict[str, str]


class Summary(Record):
    """How it went."""

    errors: tuple[Failure, ...]


class Explain(Document, tag="ltocompat/explain/v1"):
    """Rules, best match first."""

    rules: tuple[Rule, ...]
    summary: Summary
