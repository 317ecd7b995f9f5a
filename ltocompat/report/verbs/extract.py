"""The answer of ``extract``: one line a file that was written, ``ltocompat/extract/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.commands.extract import Extracted
from ltocompat.model.image import Skipped
from ltocompat.model.words import count
from ltocompat.report import Failure, Options, Report, answers, rows_document
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


_DOCUMENT = rows_document(
    "extract",
    counts=lambda record: {"skipped" if isinstance(record, Skipped) else "written": 1},
    told=lambda record: {"written": not isinstance(record, Skipped)},
)
REPORT: Report[Extracted | Skipped] = Report(blocks, _DOCUMENT)
