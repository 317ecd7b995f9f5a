"""The answer of ``targets``: a row a word that a deploy target can be made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ltocompat.model.projection import project
from ltocompat.report import Failure, Options, Report, answers
from ltocompat.report.document import Block, Code, Column, Table

if TYPE_CHECKING:
    from ltocompat.targets.words import TargetWord

_COLUMNS = (Column("key"), Column("value"), Column("meaning", width=24))


def blocks(records: Iterable[TargetWord | Failure], _: Options) -> Iterator[Block]:
    """A row a word."""
    rows = [(record.key, Code(record.value), record.meaning) for record in answers(records)]
    if rows:
        yield Table(_COLUMNS, tuple(rows))


def _document(records: Iterable[TargetWord | Failure], _: Options) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.model.records_v1 import targets as v1
    from ltocompat.report.formats.jsonstream import Rows

    rows = Rows(v1.Targets, "words")
    for word in rows.answers(records):
        yield from rows.row(project(v1.Word, word))
    yield from rows.end(v1.Targets((), v1.Summary(rows.errors)))


REPORT: Report[TargetWord] = Report(blocks, _document)
