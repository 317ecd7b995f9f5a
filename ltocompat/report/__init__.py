"""How answers are written: a verb gives blocks and a JSON document, a format writes them."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
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

__all__ = ["FORMATS", "Failure", "Options", "Report", "Writable", "answers", "writer"]

FORMATS = ("table", "json", "markdown")
"""The formats of every verb; each is a module of that name in ``formats``, with ``write``."""

LIST_FORMATS = (*FORMATS, "csv", "jsonl")
"""The formats of verbs whose answer is a list."""

FINDING_FORMATS = (
    *LIST_FORMATS,
    "concise",
    "sarif",
    "github",
    "gitlab",
    "junit",
    "html",
)
"""The formats of verbs that have findings."""

# Modules called json and csv would hide the standard library's.
_MODULES = {"json": "jsonstream", "csv": "csv_rows"}

_OF_RECORDS = (*LIST_FORMATS, "github")  # they write more than findings and verdicts


class Writable(Protocol):
    """A stream that takes text."""

    def write(self, text: str, /) -> object:
        """Write ``text``."""


def answers(records: Iterable[R | Failure]) -> Iterator[R]:
    """Return the records but the failures, which are said on standard error."""

    def is_answer(record: R | Failure) -> TypeGuard[R]:
        return not isinstance(record, Failure)

    return filter(is_answer, records)  # no generator: a trace shows the verb and its command


class Options(Struct, frozen=True):
    """Options of the reader of a report.

    Attributes:
        width: columns of the terminal; None when the output is not a terminal (nothing is cut).
        by: what the summary is grouped by; one of ``folding.GROUPS``.
        images: one row an image instead of a summary.
        kernels: names of kernels were asked for.
        named: paths that the user named, as opposed to those found in folders.
        why: the reasoning of each verdict was asked for.
        together: several paths were judged as one, and are its name.
        color: the reader sees colours.
        notes: notes are shown, too, not only counted.
        quiet: only what is wrong is shown.
        paste_for: only the lines to paste there are shown; one of ``DESTINATIONS``.
        packages: artifacts are shown by the package that they belong to, worst first.
        environment: they are an environment, whose first line says what it runs on.
    """

    width: int | None = None
    by: str = "kind"
    images: bool = False
    kernels: bool = False
    named: frozenset[str] = frozenset()
    why: bool = False
    together: bool = False
    color: bool = False
    notes: bool = False
    quiet: bool = False
    packages: bool = False
    environment: bool = False
    paste_for: str = ""


class Report(Struct, Generic[R], frozen=True):
    """The two faces of a verb's answer.

    Attributes:
        formats: those that it can be written in.
        blocks: makes it blocks, as it comes.
        document: makes it pieces of one JSON document, as it comes.
    """

    formats: ClassVar[tuple[str, ...]] = FORMATS
    blocks: Callable[[Iterable[R | Failure], Options], Iterator[Block]]
    document: Callable[[Iterable[R | Failure], Options], Iterator[str]]


class ListReport(Report[R], frozen=True):
    """The faces of the answer of a verb that is a list, which tables of other programs can hold.

    Attributes:
        kind: the rows' class.
        rows_of: the rows that a record comes to, and failures in it.
        of_record: attributes of the record that are columns, too.
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
        """Yield the rows, and failures where they come."""
        for record in records:
            for row in [record] if isinstance(record, Failure) else self.rows_of(record):
                if isinstance(row, Failure):
                    yield row
                else:
                    yield {name: getattr(record, name) for name in self.of_record} | row.to_row()


def rows_document(
    verb: str, counts: Callable[[Any], Mapping[str, int]] = lambda _: {}
) -> Callable[[Iterable[Any], Options], Iterator[str]]:
    """Make the document of a verb whose answer is rows, one a record, and a summary of them.

    Args:
        verb: the module of its records, whose document begins with the rows.
        counts: what a record adds to the numbers of the summary.
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
            yield from rows.row(project(row, record))
        numbers = {name: totals[name] for name in v1.Summary.__struct_fields__ if name != "errors"}
        yield from rows.end(whole((), v1.Summary(**numbers, errors=rows.errors)))

    return document


def writer(name: str) -> Callable[[Any, Iterable[Any], Writable, Options], None]:
    """Return the function that writes a report of records in the format called ``name``."""
    write_in = importlib.import_module(f"{__name__}.formats.{_MODULES.get(name, name)}").write
    if name in _OF_RECORDS:
        return write_in  # type: ignore[no-any-return]
    return lambda report, records, stream, options: write_in(  # noqa: ARG005 - all are called alike
        report.sorted_records(records), stream
    )
