"""The answer of ``extract``: one line a file that was written, ``ltocompat/extract/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.commands.extract import Extracted
from ltocompat.model.image import Skipped
from ltocompat.model.projection import project
from ltocompat.model.words import count
from ltocompat.report import Failure, Options, Report, answers
from ltocompat.report.document import Block, Code, Entry, Paragraph
from ltocompat.report.text import truncate


def blocks(records: Iterable[Extracted | Skipped | Failure], _: Options) -> Iterator[Block]:
    """Yield a line for each file as it is written, then their number."""
    written = skipped = 0
    entries: Iterator[Extracted | Skipped] = answers(records)
    for record in entries:
        if isinstance(record, Skipped):
            skipped += 1
            yield Entry((Code(record.place), ": skipped, ", truncate(record.reason)))
        else:
            written += 1
            note = (", ", record.note) if record.note else ()
            yield Entry((Code(record.place), " -> ", Code(record.path), *note))
    tail_ = f", {count(skipped, 'place')} skipped" if skipped else ""
    yield Paragraph((f"{count(written, 'file')} written{tail_}",))


def _document(records: Iterable[Extracted | Skipped | Failure], _: Options) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.model.records_v1 import extract as v1
    from ltocompat.report.formats.jsonstream import Rows

    rows = Rows(v1.Extract, "entries")
    counts = {True: 0, False: 0}
    for record in rows.answers(records):  # both share one list, as they came
        written = not isinstance(record, Skipped)
        counts[written] += 1
        yield from rows.row(project(v1.Entry, record, written=written))
    yield from rows.end(v1.Extract((), v1.Summary(counts[True], counts[False], rows.errors)))


REPORT: Report[Extracted | Skipped] = Report(blocks, _document)
