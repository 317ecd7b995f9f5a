"""The answers of ``nvjitlink`` as ``ltocompat/nvjitlink/v1``, written as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.commands.nvjitlink import InstallChange, Plan
from ltocompat.model.image import Skipped
from ltocompat.model.records_v1 import base
from ltocompat.model.records_v1 import nvjitlink as v1
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import Rows, failure_values
from ltocompat.report.verbs.inspect_json import skipped_value
from ltocompat.targets.linkers import Linker


def document(
    records: Iterable[Linker | Skipped | Plan | InstallChange | Failure], _: Options
) -> Iterator[str]:
    """The pieces of the JSON document; a list and a change have the same rows."""
    rows = Rows(v1.Nvjitlink, "nvjitlinks")
    skipped: list[base.Skipped] = []
    written = download = 0
    for record in records:
        if isinstance(record, Failure):
            rows.failures.append(record)
        elif isinstance(record, Skipped):
            skipped.append(skipped_value(record))
        elif isinstance(record, Plan):
            download = record.size
        else:
            written += 1
            yield from rows.row(_library(record))
    summary = v1.Summary(written, len(skipped), download, failure_values(rows.failures))
    yield from rows.end(v1.Nvjitlink((), tuple(skipped), summary))


def _library(record: Linker | InstallChange) -> v1.Library:
    change = record if isinstance(record, InstallChange) else None
    linker = record.linker if isinstance(record, InstallChange) else record
    return v1.Library(
        release=str(linker.release),
        version=linker.version,
        path=linker.path,
        found_via=tuple(linker.found_via.split(", ")),
        evidence=linker.evidence,
        for_trials=linker.for_trials,
        machine=linker.machine,
        action=change.action if change else None,
        size=change.size if change else None,
    )
