"""The answer of ``explain``, ``ltocompat/explain/v1``: what causes an error, or a rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ltocompat.model.explained import Explained
from ltocompat.model.version import rule_url
from ltocompat.model.words import excerpt
from ltocompat.report import Failure, Options, Report, answers, rows_document
from ltocompat.report.document import Block, Code, Column, Heading, Items, Paragraph, Table
from ltocompat.report.streams import PIPED

_INDEX = (Column("rule"), Column("what is wrong", width=20), Column("verdict", width=20))


_BEGINNING = 24  # characters of a message by which it is found in a user's line
_LABEL = 7  # columns of a label and the blank behind it


def blocks(records: Iterable[Explained | Failure], options: Options) -> Iterator[Block]:
    """Yield the causes of a text in brief; named rules, or all with ``--full``, in full."""
    entries = [*answers(records)]
    if causes := [entry for entry in entries if entry.cause is not None]:
        yield from _cause(causes[0], causes[1:], (options.width or PIPED) - len("> "))
    for entry in entries:
        if entry.line is None or (options.why and entry.cause is not None):
            yield from _rule(entry)


def _cause(entry: Explained, others: list[Explained], most: int) -> Iterator[Block]:
    line = " ".join((entry.line or "").lstrip("> \t").split())
    around = line.find((entry.matched or "")[:_BEGINNING])  # of a long line the part around that
    yield Heading((f"> {excerpt(line, around, most)}",))
    faults = [f"{fault.place}: {fault.reason}" for fault in entry.at_fault]
    more = f"; {len(faults) - 1} more: --format json" if faults[1:] else ""
    named = "; ".join(f"{other.id} ({other.title})" for other in others)
    labelled: tuple[tuple[str, ...], ...] = (
        ("Cause:", entry.cause or ""),
        ("Fix:", entry.fix or ""),
        ("Here:", entry.here or ""),
        ("File:", f"{faults[0]}{more}" if faults else ""),
        ("Check:", Code(entry.check or "")),
        ("Rule:", f"{entry.id}; details: ", Code(f"ltocompat explain {entry.id}")),
        ("More:", named),
    )
    for label, *parts in labelled:
        if any(parts):
            yield Paragraph((f"{label:<{_LABEL}}", *parts), _LABEL)


def _rule(entry: Explained) -> Iterator[Block]:
    if not entry.id:
        yield Paragraph((entry.statement,))
        return
    topic = not entry.id[0].isupper()
    yield Heading((entry.title if topic else f"{entry.id}: {entry.title}",))
    yield from (Paragraph((sentence,)) for sentence in entry.statement.splitlines())
    sections = (
        ("rules", ", ".join(entry.also) if topic else ""),
        ("remedy", entry.remedy),
        ("evidence", entry.evidence),
        ("source", entry.source),
        ("page", rule_url(entry.id)),
    )
    for title, text in (("when", entry.condition), ("verdict", entry.verdict)):
        if text:
            yield Items(title, tuple((case,) for case in re.split(r"(?<=\.) ", text)))
    yield Items("about it", tuple((f"{label}: ", text) for label, text in sections if text))
    if entry.messages:
        yield Items("messages", tuple((Code(text),) for text in entry.messages))


def index(records: Iterable[Explained | Failure], _: Options) -> Iterator[Block]:
    """A row a rule."""
    rows = tuple(
        (record.id, record.title, ", ".join(map(str, record.verdicts)) or "not built")
        for record in answers(records)
    )
    if rows:
        yield Table(_INDEX, rows)
        yield Paragraph(("more about a rule: ", Code(f"ltocompat explain {rows[0][0]}")))


# Causes, and rules.
REPORT: Report[Explained] = Report(blocks, rows_document("explain"))
# The report with one line per rule; its JSON is complete.
INDEX: Report[Explained] = Report(index, rows_document("explain"))
