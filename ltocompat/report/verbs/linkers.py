"""The answers of ``linkers list``, ``install`` and ``remove``, ``ltocompat/linkers/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ltocompat.model.image import Skipped
from ltocompat.model.words import count
from ltocompat.report import Failure, Options, Report
from ltocompat.report.document import Block, Code, Column, Entry, Items, Paragraph, Table
from ltocompat.report.text import binary_size

if TYPE_CHECKING:
    from ltocompat.commands.linkers import InstallChange, Plan
    from ltocompat.targets.linkers import Linker

_COLUMNS = (
    Column("linker"),
    Column("version"),
    Column("known by", optional=True),
    Column("found via", width=12),
    Column("for"),
    Column("path"),
)
_NONE = "no linker is at hand; get one for trials with: ltocompat linkers install nvjitlink=12.4"


def list_blocks(records: Iterable[Linker | Skipped | Failure], _: Options) -> Iterator[Block]:
    """One row a linker, and what was skipped."""
    rows, skipped = [], []
    for record in records:
        if isinstance(record, Skipped):
            skipped.append((Code(record.place), ": ", record.reason))
        elif not isinstance(record, Failure):
            use = "trials only" if record.for_trials else f"programs on {record.machine}"
            names = (record.tool.label, record.version, record.evidence, record.found_via)
            rows.append((*names, use, record.path))
    if rows:
        yield Table(_COLUMNS, tuple(rows))
    else:
        yield Paragraph((_NONE,))
    if skipped:
        yield Items("skipped", tuple(skipped))


def change_blocks(records: Iterable[Plan | InstallChange | Failure], _: Options) -> Iterator[Block]:
    """The size of what is downloaded, and a line for each version."""
    from ltocompat.commands.linkers import Plan

    for record in records:
        if isinstance(record, Failure):
            continue
        if isinstance(record, Plan):
            if record.downloads:
                yield Entry((_announced(record),))
            continue
        action = {"kept": "already there"}.get(record.action, record.action)
        linker = record.linker
        yield Entry((f"{linker}: {action}, {binary_size(record.size)}, ", Code(linker.path)))


def _announced(plan: Plan) -> str:
    size = binary_size(plan.size) if plan.size else "of unknown size"
    return f"{count(plan.downloads, 'wheel')} to download, {size}"


def _document(
    records: Iterable[Linker | Skipped | Plan | InstallChange | Failure], options: Options
) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.report.verbs.linkers_json import document

    return document(records, options)


def _nvjitlink_document(
    records: Iterable[Linker | Skipped | Plan | InstallChange | Failure], options: Options
) -> Iterator[str]:
    from ltocompat.report.verbs.linkers_json import document

    return document(records, options, of_nvjitlink=True)


LISTING: Report[Linker | Skipped] = Report(list_blocks, _document)
CHANGES: Report[Plan | InstallChange] = Report(change_blocks, _document)
NVJITLINK_LISTING: Report[Linker | Skipped] = Report(list_blocks, _nvjitlink_document)
NVJITLINK_CHANGES: Report[Plan | InstallChange] = Report(change_blocks, _nvjitlink_document)
