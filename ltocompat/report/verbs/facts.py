"""The answer of ``facts``: a row a list of facts, and the document that has them whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.commands.facts import FactsTable
from ltocompat.report import Failure, Options, Report, answers
from ltocompat.report.document import Block, Code, Column, Paragraph, Table

_COLUMNS = (Column("table"), Column("list"), Column("rows", right=True), Column("newest"))


def blocks(records: Iterable[FactsTable | Failure], _: Options) -> Iterator[Block]:
    """Yield the end of the tables, then a row per list."""
    from ltocompat.facts.horizon import tables_end

    rows = [
        (Code(record.name), name, f"{len(facts):,}", max(str(fact["date"]) for fact in facts))
        for record in answers(records)
        for name, facts in record.lists.items()
    ]
    if rows:
        yield Paragraph((f"facts up to {tables_end()}; all rows: ", Code("--format json")))
        yield Table(_COLUMNS, tuple(rows))


def _document(records: Iterable[FactsTable | Failure], _: Options) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.model.records_v1.facts import Facts
    from ltocompat.report.formats.jsonstream import Rows, encode, error_document

    rows = Rows(Facts, "tables")
    tables = {
        record.name: {name: tuple(facts) for name, facts in record.lists.items()}
        for record in rows.answers(records)
    }
    yield error_document(rows.failures) if rows.failures else encode(Facts(tables)) + "\n"


REPORT: Report[FactsTable] = Report(blocks, _document)
