"""The answers of ``linkers`` as ``ltocompat/linkers/v1``; ``nvjitlink`` has a name of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.commands.linkers import InstallChange, Plan
from ltocompat.model.image import Skipped
from ltocompat.model.records_v1 import base, nvjitlink
from ltocompat.model.records_v1 import linkers as v1
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import Rows, failure_values
from ltocompat.report.verbs.inspect_json import skipped_value
from ltocompat.targets.linkers import Linker


def document(
    records: Iterable[Linker | Skipped | Plan | InstallChange | Failure],
    _: Options,
    *,
    of_nvjitlink: bool = False,
) -> Iterator[str]:
    """The pieces of the JSON document; a list and a change have the same rows.

    Args:
        records: what the command gave.
        of_nvjitlink: under the names that the verb of nvJitLink alone has always had.
    """
    kind = nvjitlink.Nvjitlink if of_nvjitlink else v1.Linkers
    rows = Rows(kind, kind.__struct_fields__[0])
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
            yield from rows.row(_copy(record))
    counts = (written, len(skipped), download, failure_values(rows.failures))
    whole: base.Document = v1.Linkers((), tuple(skipped), v1.Summary(*counts))
    if of_nvjitlink:
        whole = nvjitlink.Nvjitlink((), tuple(skipped), nvjitlink.Summary(*counts))
    yield from rows.end(whole)


def _copy(record: Linker | InstallChange) -> v1.Copy:
    change = record if isinstance(record, InstallChange) else None
    linker = record.linker if isinstance(record, InstallChange) else record
    return v1.Copy(
        release=str(linker.release),
        version=linker.version,
        path=linker.path,
        found_via=tuple(linker.found_via.split(", ")),
        evidence=linker.evidence,
        for_trials=linker.for_trials,
        machine=linker.machine,
        action=change.action if change else None,
        size=change.size if change else None,
        tool=linker.tool,
    )
