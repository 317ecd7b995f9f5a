"""How answers are written: a verb gives blocks and a JSON document, a format writes them."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Protocol,
    TypeGuard,
    get_args,
    get_type_hints,
)

from msgspec import Struct

from ltocompat.model.failure import Failure
from ltocompat.model.generic import R
from ltocompat.model.projection import project

if TYPE_CHECKING:
    from ltocompat.model.row import Row, Tabular
    from ltocompat.report.document import Block
    from ltocompat.report.sorted_records import FindingRecord, SortedRecords

__all__ = ["FORMATS", "Failure", "Options", "Report", "Writable", "answers", "writer"]

# The formats of every verb; each is a module of that name in ``formats``, with ``write``.
FORMATS = ("table", "json", "markdown")

# The formats of verbs whose answer is a list.
LIST_FORMATS = (*FORMATS, "csv", "jsonl")

# The formats of verbs that have findings.
FINDING_FORMATS = (*LIST_FORMATS, "concise", "sarif", "github", "gitlab", "junit", "html")

# Modules called json and csv would hide the standard library's.
_MODULES = {"json": "jsonstream", "csv": "csv_rows"}

# They write more than findings and verdicts, or as the reader asks.
_OF_RECORDS = (*LIST_FORMATS, "concise", "github")


class Writable(Protocol):
    """A stream that accepts text."""

    def write(self, text: str, /) -> object:
        """Write ``text``."""


def answers(records: Iterable[R | Failure]) -> Iterator[R]:
    """Yield the records without failures, which go to standard error."""

    def is_answer(record: R | Failure) -> TypeGuard[R]:
        return not isinstance(record, Failure)

    return filter(is_answer, records)  # no generator: a trace shows the verb and its command


class Options(Struct, frozen=True):
    """Options of the reader of a report.

    Attributes:
        width: columns of the terminal; None if the output is not a terminal (nothing is truncated).
        by: the grouping of the summary; one of ``folding.GROUPS``.
        images: True for one row per image instead of a summary.
        kernels: True if names of kernels were requested.
        named: paths that the user named, without paths found in folders.
        why: True if the reasoning of each verdict was requested.
        color: True if the output shows colours.
        notes: True if notes are shown, not only counted; None: the verb has no option for that.
        quiet: True if only findings are shown.
        paste_for: the place whose lines alone are shown; one of ``DESTINATIONS``.
        packages: True if artifacts are shown by their package, worst first.
    """

    width: int | None = None
    by: str = "kind"
    images: bool = False
    kernels: bool = False
    named: frozenset[str] = frozenset()
    why: bool = False
    color: bool = False
    notes: bool | None = None
    quiet: bool = False
    packages: bool = False
    paste_for: str = ""


class Report(Struct, Generic[R], frozen=True):
    """The text and JSON reports of a verb's answer.

    Attributes:
        formats: the formats in which it can be written.
        blocks: turns records into blocks, one by one.
        document: turns records into pieces of one JSON document, one by one.
    """

    formats: ClassVar[tuple[str, ...]] = FORMATS
    blocks: Callable[[Iterable[R | Failure], Options], Iterator[Block]]
    document: Callable[[Iterable[R | Failure], Options], Iterator[str]]


class ListReport(Report[R], frozen=True):
    """The reports of a verb whose answer is a list, which other programs can read as a table.

    Attributes:
        kind: the rows' class.
        rows_of: returns the rows of a record, and its failures.
        of_record: attributes of the record that are also columns.
    """

    formats: ClassVar[tuple[str, ...]] = LIST_FORMATS
    kind: type[Tabular]
    rows_of: Callable[[R], Iterable[Tabular | Failure]]
    of_record: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns; the last is for what could not be read."""
        # Imported here: the other formats need no rows.
        from ltocompat.model.row import columns

        return [*self.of_record, *dict(columns(self.kind)), "error"]

    def rows(self, records: Iterable[R | Failure]) -> Iterator[Row | Failure]:
        """Yield the rows, with failures in their order."""
        for record in records:
            for row in [record] if isinstance(record, Failure) else self.rows_of(record):
                if isinstance(row, Failure):
                    yield row
                else:
                    yield {name: getattr(record, name) for name in self.of_record} | row.to_row()


class FindingReport(Report[R], frozen=True):
    """The reports of a verb with findings; every format can write them.

    Attributes:
        finding_records: collects the records for formats that write findings.
    """

    formats: ClassVar[tuple[str, ...]] = FINDING_FORMATS
    columns: ClassVar[Sequence[str]] = (  # noqa: SIM905 - shorter than a list
        "artifact place level verdict rule title target gpus routes modules message remedy "
        "evidence fingerprint judged kernels kernel_count kernel_modules"
    ).split()
    finding_records: Callable[[Iterable[R | Failure]], Iterable[FindingRecord]]

    def sorted_records(self, records: Iterable[R | Failure]) -> SortedRecords:
        """Return all records, sorted by class."""
        # Imported here, as the rows below: a table needs neither.
        from ltocompat.report.sorted_records import sort_records

        return sort_records(self.finding_records(records))

    def rows(self, records: Iterable[R | Failure]) -> Iterator[Failure | Mapping[str, object]]:
        """Yield failures, then a row for each finding."""
        from ltocompat.report.finding_rows import finding_rows

        answer = self.sorted_records(records)
        yield from answer.failures
        for row in finding_rows(answer.results):
            yield {name: getattr(row, name) for name in self.columns}


def rows_document(
    verb: str,
    counts: Callable[[Any], Mapping[str, int]] = lambda _: {},
    told: Callable[[Any], Mapping[str, object]] = lambda _: {},
) -> Callable[[Iterable[Any], Options], Iterator[str]]:
    """Make the document of a verb whose answer has one row per record, and a summary.

    Args:
        verb: the module of its records, whose document begins with the rows.
        counts: returns the numbers that a record adds to the summary.
        told: returns the members of a row that its record does not have.
    """

    def document(records: Iterable[Any], _: Options) -> Iterator[str]:
        # Imported here: a table needs no JSON.
        from ltocompat.report.formats.jsonstream import Rows

        v1 = importlib.import_module(f"ltocompat.model.records_v1.{verb}")
        whole, totals = getattr(v1, verb.capitalize()), Counter[str]()
        array, *_ = whole.__struct_fields__
        (row, _) = get_args(get_type_hints(whole)[array])
        rows = Rows(whole, array)
        for record in rows.answers(records):
            totals.update(counts(record))
            yield from rows.row(project(row, record, **told(record)))
        numbers = {name: totals[name] for name in v1.Summary.__struct_fields__ if name != "errors"}
        yield from rows.end(whole((), v1.Summary(**numbers, errors=rows.errors)))

    return document


def writer(name: str) -> Callable[[Any, Iterable[Any], Writable, Options], None]:
    """Return the writer of a report of records in the format ``name``."""
    write_in = importlib.import_module(f"{__name__}.formats.{_MODULES.get(name, name)}").write
    if name in _OF_RECORDS:
        return write_in  # type: ignore[no-any-return]
    return lambda report, records, stream, options: write_in(  # noqa: ARG005 - all are called alike
        report.sorted_records(records), stream
    )
