"""The answer of ``explain``: what a rule says, why, and what to do; ``ltocompat/explain/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ltocompat.report import Failure, Options, Report
from ltocompat.report.document import Block, Code, Column, Heading, Items, Paragraph, Table
from ltocompat.report.formats.jsonstream import (
    Array,
    encode,
    error_document,
    failure_value,
    head,
    tail,
)

if TYPE_CHECKING:
    from ltocompat.commands.explain import Explained

SCHEMA = "ltocompat/explain/v1"

_INDEX = (Column("rule"), Column("what is wrong", width=20), Column("verdict", width=20))


def blocks(records: Iterable[Explained | Failure], _: Options) -> Iterator[Block]:
    """Each rule in full."""
    for record in records:
        if not isinstance(record, Failure):
            yield from _rule(record)


def _rule(entry: Explained) -> Iterator[Block]:
    yield Heading((f"{entry.id}: {entry.title}",))
    yield Paragraph((entry.statement,))
    if entry.matched is not None:
        yield Items("found in the text", ((Code(entry.matched),),))
    textses = (
        ("when", entry.condition),
        ("verdict", entry.verdict),
        ("remedy", entry.remedy),
        ("evidence", entry.evidence),
        ("source", entry.source),
    )
    lines = tuple((f"{label}: ", text) for label, text in textses if text)
    if lines:
        yield Items("about it", lines)
    if entry.messages:
        yield Items("messages", tuple((Code(text),) for text in entry.messages))


def index(records: Iterable[Explained | Failure], _: Options) -> Iterator[Block]:
    """A row a rule."""
    rows = tuple(
        (record.id, record.title, record.verdict if record.built else "not built")
        for record in records
        if not isinstance(record, Failure)
    )
    if rows:
        yield Table(_INDEX, rows)
        yield Paragraph(("all of one rule: ", Code(f"ltocompat explain {rows[0][0]}")))


def document(records: Iterable[Explained | Failure], _: Options) -> Iterator[str]:
    """The pieces of the JSON document."""
    rows = Array()
    failures: list[Failure] = []
    begun = False
    for record in records:
        if isinstance(record, Failure):
            failures.append(record)
            continue
        if not begun:
            yield head(SCHEMA, "rules")
            begun = True
        yield rows.element(f"  {encode(_value(record))}")
    if failures and not begun:
        yield error_document(failures)
        return
    if not begun:
        yield head(SCHEMA, "rules")
    yield from tail(summary={"errors": [failure_value(failure) for failure in failures]})


def _value(entry: Explained) -> dict[str, object]:
    return {
        "id": entry.id,
        "title": entry.title,
        "statement": entry.statement,
        "condition": entry.condition,
        "evidence": entry.evidence,
        "verdict": entry.verdict,
        "messages": list(entry.messages),
        "remedy": entry.remedy,
        "source": entry.source,
        "built": entry.built,
        "matched": entry.matched,
        "score": entry.score,
    }


REPORT: Report[Explained] = Report(blocks, document)
"""Rules in full."""
INDEX: Report[Explained] = Report(index, document)
"""Every rule in a line; its JSON is as full as the other."""
