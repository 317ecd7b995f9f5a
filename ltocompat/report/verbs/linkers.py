"""The answers of ``nvjitlink list``, ``install`` and ``remove``, ``ltocompat/nvjitlink/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ltocompat.model.image import Skipped
from ltocompat.report import Failure, Options, Report
from ltocompat.report.document import Block, Code, Column, Entry, Items, Paragraph, Table
from ltocompat.report.text import binary_size, count

if TYPE_CHECKING:
    from ltocompat.commands.nvjitlink import InstallChange, Plan
    from ltocompat.targets.linkers import Linker

_COLUMNS = (
    Column("version"),
    Column("known by", optional=True),
    Column("found via", width=12),
    Column("for"),
    Column("path"),
)
_NONE = "no nvJitLink is at hand; get one for trials with: ltocompat nvjitlink install 12.4"


def list_blocks(records: Iterable[Linker | Skipped | Failure], _: Options) -> Iterator[Block]:
    """One row a library, and what was skipped."""
    rows, skipped = [], []
    for record in records:
        if isinstance(record, Skipped):
            skipped.append((Code(record.place), ": ", record.reason))
        elif not isinstance(record, Failure):
            use = "trials only" if record.for_trials else f"programs on {record.machine}"
            rows.append((record.version, record.evidence, record.found_via, use, record.path))
    if rows:
        yield Table(_COLUMNS, tuple(rows))
    else:
        yield Paragraph((_NONE,))
    if skipped:
        yield Items("skipped", tuple(skipped))


def change_blocks(records: Iterable[Plan | InstallChange | Failure], _: Options) -> Iterator[Block]:
    """The size of what is downloaded, and a line for each version."""
    from ltocompat.commands.nvjitlink import Plan

    for record in records:
        if isinstance(record, Failure):
            continue
        if isinstance(record, Plan):
            if record.downloads:
                yield Entry((_announced(record),))
            continue
        action = {"kept": "already there"}.get(record.action, record.action)
        linker = record.linker
        text = f"nvJitLink {linker.version}: {action}, {binary_size(record.size)}, "
        yield Entry((text, Code(linker.path)))


def _announced(plan: Plan) -> str:
    size = binary_size(plan.size) if plan.size else "of unknown size"
    return f"{count(plan.downloads, 'wheel')} to download, {size}"


def _document(
    records: Iterable[Linker | Skipped | Plan | InstallChange | Failure], options: Options
) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.report.verbs.nvjitlink_json import document

    return document(records, options)


LISTING: Report[Linker | Skipped] = Report(list_blocks, _document)
CHANGES: Report[Plan | InstallChange] = Report(change_blocks, _document)
