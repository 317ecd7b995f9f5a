"""The answer of ``extract`` as ``ltocompat/extract/v1``, written as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.commands.extract import Extracted
from ltocompat.model.image import Skipped
from ltocompat.model.records_v1 import extract as v1
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import (
    Array,
    encode,
    error_document,
    failure_values,
    head,
    tail,
)


def document(records: Iterable[Extracted | Skipped | Failure], _: Options) -> Iterator[str]:
    """The pieces of the JSON document; files and skipped places share one list, as they came."""
    entries = Array()
    failures: list[Failure] = []
    written = skipped = 0
    for record in records:
        if isinstance(record, Failure):
            failures.append(record)
            continue
        if not written and not skipped:
            yield head(v1.Extract, "entries")
        if isinstance(record, Skipped):
            skipped += 1
            yield entries.element(f"  {encode(_skipped(record))}")
        else:
            written += 1
            yield entries.element(f"  {encode(_written(record))}")
    if not written and not skipped:
        if failures:
            yield error_document(failures)
            return
        yield head(v1.Extract, "entries")
    summary = v1.Summary(written, skipped, failure_values(failures))
    yield from tail(v1.Extract((), summary), "entries")


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
