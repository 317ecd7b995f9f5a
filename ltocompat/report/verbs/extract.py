"""The answer of ``extract``: one line a file that was written, ``ltocompat/extract/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ltocompat.model.image import Skipped
from ltocompat.report import Failure, Options, Report
from ltocompat.report.document import Block, Code, Entry, Paragraph
from ltocompat.report.formats.jsonstream import (
    Array,
    encode,
    error_document,
    failure_value,
    head,
    tail,
)
from ltocompat.report.text import brief, count
from ltocompat.report.verbs.inspect_json import skipped_value

if TYPE_CHECKING:
    from ltocompat.commands.extract import Extracted

SCHEMA = "ltocompat/extract/v1"


def blocks(records: Iterable[Extracted | Skipped | Failure], _: Options) -> Iterator[Block]:
    """A line for each file, as it is written, and how many there were."""
    written = skipped = 0
    for record in records:
        if isinstance(record, Failure):
            continue
        if isinstance(record, Skipped):
            skipped += 1
            yield Entry((Code(record.place), ": skipped, ", brief(record.reason)))
        else:
            written += 1
            note = (", ", record.note) if record.note else ()
            yield Entry((Code(record.place), " -> ", Code(record.path), *note))
    tail_ = f", {count(skipped, 'place')} skipped" if skipped else ""
    yield Paragraph((f"{count(written, 'file')} written{tail_}",))


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
            yield head(SCHEMA, "entries")
        if isinstance(record, Skipped):
            skipped += 1
            value: dict[str, object] = {"written": False, **skipped_value(record)}
        else:
            written += 1
            value = {
                "written": True,
                "place": str(record.place),
                "path": record.path,
                "what": record.what,
                "note": record.note,
            }
        yield entries.element(f"  {encode(value)}")
    if not written and not skipped:
        if failures:
            yield error_document(failures)
            return
        yield head(SCHEMA, "entries")
    errors = [failure_value(failure) for failure in failures]
    yield from tail(summary={"written": written, "skipped": skipped, "errors": errors})


REPORT: Report[Extracted | Skipped] = Report(blocks, document)
