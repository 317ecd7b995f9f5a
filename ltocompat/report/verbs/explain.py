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
    for one in records:
        if not isinstance(one, Failure):
            yield from _rule(one)


def _rule(one: Explained) -> Iterator[Block]:
    yield Heading((f"{one.id}: {one.title}",))
    yield Paragraph((one.statement,))
    if one.matched is not None:
        yield Items("found in the text", ((Code(one.matched),),))
    said = (
        ("when", one.condition),
        ("verdict", one.verdict),
        ("remedy", one.remedy),
        ("evidence", one.evidence),
        ("source", one.source),
    )
    lines = tuple((f"{label}: ", text) for label, text in said if text)
    if lines:
        yield Items("about it", lines)
    if one.messages:
        yield Items("messages", tuple((Code(text),) for text in one.messages))


def index(records: Iterable[Explained | Failure], _: Options) -> Iterator[Block]:
    """A row a rule."""
    rows = tuple(
        (one.id, one.title, one.verdict if one.built else "not built")
        for one in records
        if not isinstance(one, Failure)
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


def _value(one: Explained) -> dict[str, object]:
    return {
        "id": one.id,
        "title": one.title,
        "statement": one.statement,
        "condition": one.condition,
        "evidence": one.evidence,
        "verdict": one.verdict,
        "messages": list(one.messages),
        "remedy": one.remedy,
        "source": one.source,
        "built": one.built,
        "matched": one.matched,
        "score": one.score,
    }


REPORT: Report[Explained] = Report(blocks, document)
"""Rules in full."""
INDEX: Report[Explained] = Report(index, document)
"""Every rule in a line; its JSON is as full as the other."""
