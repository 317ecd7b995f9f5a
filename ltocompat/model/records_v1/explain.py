"""`ltocompat/explain/v1`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ltocompat.model.records_v1.base import Document, Failure, Record, described


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
    built: Annotated[
        bool, described("Verdicts go by it; else only id, title and statement are given.")
    ]
    matched: Annotated[
        str | None,
        described("The message that was found in the text; null where the rule was named."),
    ]
    score: Annotated[float, Meta(ge=0, le=1), described("How much of the text speaks for it.")]


class Summary(Record):
    """How it went."""

    errors: tuple[Failure, ...]


class Explain(Document, tag="ltocompat/explain/v1"):
    """Rules, best match first."""

    rules: tuple[Rule, ...]
    summary: Summary
