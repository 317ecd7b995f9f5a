"""The answer of ``targets``: a row a word that a deploy target can be made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.report import Failure, ListReport, Options, answers, rows_document
from ltocompat.report.document import Block, Code, Column, Table
from ltocompat.targets.words import TargetWord


def blocks(records: Iterable[TargetWord | Failure], _: Options) -> Iterator[Block]:
    """A row a word."""
    if rows := [(record.key, Code(record.value), record.meaning) for record in answers(records)]:
        yield Table((Column("key"), Column("value"), Column("meaning", width=24)), tuple(rows))


REPORT: ListReport[TargetWord] = ListReport(
    blocks, rows_document("targets"), TargetWord, lambda word: [word]
)
