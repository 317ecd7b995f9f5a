"""The answer of ``explain``: what a rule says, why, and what to do; ``ltocompat/explain/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ltocompat.report import Failure, Options, Report
from ltocompat.report.document import Block, Code, Column, Heading, Items, Paragraph, Table

if TYPE_CHECKING:
    from ltocompat.commands.explain import Explained

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


def _document(records: Iterable[Explained | Failure], options: Options) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.report.verbs.explain_json import document

    return document(records, options)


REPORT: Report[Explained] = Report(blocks, _document)
"""Rules in full."""
INDEX: Report[Explained] = Report(index, _document)
"""Every rule in a line; its JSON is as full as the other."""
