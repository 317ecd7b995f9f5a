"""`ltocompat/explain/v1`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ltocompat.model.projection import From
from ltocompat.model.records_v1.base import Document, Failure, Record, described
from ltocompat.model.version import rule_url


class AtFault(Record):
    """A file at the given places that causes the error."""

    place: str
    reason: str


class Rule(Record):
    """One rule of the catalogue."""

    id: str
    title: str
    statement: Annotated[str, described("What holds; of a rule that is not built, why it isn't.")]
    condition: str
    evidence: str
    verdict: str
    messages: Annotated[tuple[str, ...], described("The texts that users see.")]
    remedy: str
    source: str
    url: Annotated[str, From("id", rule_url), described("Its page.")]
    built: Annotated[
        bool, described("Verdicts go by it; else only id, title and statement are given.")
    ]
    matched: Annotated[
        str | None,
        described("The part of the text that is its message; null where the rule was named."),
    ]
    score: Annotated[float, Meta(ge=0, le=1), described("How much of the text speaks for it.")]
    line: Annotated[
        str | None, described("The line of the text that the message begins on, as it is there.")
    ]
    cause: Annotated[
        str | None,
        described("Why it happens; null where the rule was named, or shares another's message."),
    ]
    fix: Annotated[str | None, described("What to do about that cause.")]
    check: Annotated[str | None, described("A command that shows it.")]
    values: Annotated[
        dict[str, str], described("What the text says, and what the tables make of it.")
    ]
    also: Annotated[tuple[str, ...], described("Further rules with the same message.")]
    at_fault: Annotated[
        tuple[AtFault, ...], described("Files at the given places that the rule speaks of.")
    ]


class Summary(Record):
    """How it went."""

    errors: tuple[Failure, ...]


class Explain(Document, tag="ltocompat/explain/v1"):
    """Rules, best match first."""

    rules: tuple[Rule, ...]
    summary: Summary
