"""The answer of ``extract`` as ``ltocompat/extract/v1``, written as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.commands.extract import Extracted
from ltocompat.model.image import Skipped
from ltocompat.model.records_v1 import extract as v1
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import Rows, failure_values


def document(records: Iterable[Extracted | Skipped | Failure], _: Options) -> Iterator[str]:
    """The pieces of the JSON document; files and skipped places share one list, as they came."""
    rows = Rows(v1.Extract, "entries")
    written = skipped = 0
    for record in records:
        if isinstance(record, Failure):
            rows.failures.append(record)
        elif isinstance(record, Skipped):
            skipped += 1
            yield from rows.row(_skipped(record))
        else:
            written += 1
            yield from rows.row(_written(record))
    summary = v1.Summary(written, skipped, failure_values(rows.failures))
    yield from rows.end(v1.Extract((), summary))


def _written(file: Extracted) -> v1.Entry:
    return v1.Entry(
        written=True,
        place=str(file.place),
        path=file.path,
        what=file.what,
        note=file.note,
    )


def _skipped(skipped: Skipped) -> v1.Entry:
    return v1.Entry(
        written=False,
        place=str(skipped.place),
        reason=skipped.reason,
        size=skipped.size,
        limit=skipped.limit,
    )
