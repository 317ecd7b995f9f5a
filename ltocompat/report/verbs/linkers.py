"""The answers of ``linkers list``, ``install`` and ``remove``, ``ltocompat/linkers/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.commands.linkers import InstallChange, Plan
from ltocompat.model.image import Skipped
from ltocompat.model.projection import project
from ltocompat.report import Failure, Options, Report, answers
from ltocompat.report.document import Block, Code, Column, Entry, Items, Paragraph, Table
from ltocompat.report.text import binary_size
from ltocompat.targets.linkers import Linker

_COLUMNS = (
    Column("linker"),
    Column("version"),
    Column("known by", optional=True),
    Column("found via", width=12),
    Column("for"),
    Column("path"),
)
_NONE = "no linker is installed; get one for trials with: ltocompat linkers install nvjitlink=12.4"


def list_blocks(records: Iterable[Linker | Skipped | Failure], _: Options) -> Iterator[Block]:
    """Yield one row per linker, and skipped files."""
    rows, skipped = [], []
    found: Iterator[Linker | Skipped] = answers(records)
    for record in found:
        if isinstance(record, Skipped):
            skipped.append((Code(record.place), ": ", record.reason))
        else:
            use = "trials only" if record.for_trials else f"programs on {record.machine}"
            names = (record.tool.label, record.version, record.evidence, record.found_via)
            rows.append((*names, use, record.path))
    yield Table(_COLUMNS, tuple(rows)) if rows else Paragraph((_NONE,))
    if skipped:
        yield Items("skipped", tuple(skipped))


def change_blocks(records: Iterable[Plan | InstallChange | Failure], _: Options) -> Iterator[Block]:
    """Yield a line for each version."""
    from ltocompat.commands.linkers import Plan

    changes: Iterator[Plan | InstallChange] = answers(records)
    for record in changes:
        if not isinstance(record, Plan):
            action = {"kept": "already there"}.get(record.action, record.action)
            linker = record.linker
            yield Entry((f"{linker}: {action}, {binary_size(record.size)}, ", Code(linker.path)))


def _document(
    records: Iterable[Linker | Skipped | Plan | InstallChange | Failure], _: Options
) -> Iterator[str]:
    """The pieces of the JSON document; a list and a change have the same rows."""
    # Imported here: a table needs no JSON.
    from ltocompat.commands.linkers import InstallChange, Plan
    from ltocompat.model.records_v1 import base
    from ltocompat.model.records_v1 import linkers as v1
    from ltocompat.report.formats.jsonstream import Rows

    rows = Rows(v1.Linkers, "linkers")
    skipped: list[base.Skipped] = []
    written = download = 0
    found: Iterator[Linker | Skipped | Plan | InstallChange] = rows.answers(records)
    for record in found:
        if isinstance(record, Skipped):
            skipped.append(project(base.Skipped, record))
        elif isinstance(record, Plan):
            download = record.size
        else:
            written += 1
            change = record if isinstance(record, InstallChange) else None
            linker = record.linker if isinstance(record, InstallChange) else record
            action, size = (change.action, change.size) if change else (None, None)
            yield from rows.row(project(v1.Copy, linker, action=action, size=size))
    summary = v1.Summary(written, len(skipped), download, errors=rows.errors)
    yield from rows.end(v1.Linkers((), tuple(skipped), summary))


LISTING: Report[Linker | Skipped] = Report(list_blocks, _document)
CHANGES: Report[Plan | InstallChange] = Report(change_blocks, _document)
