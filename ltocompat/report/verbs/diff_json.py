"""The answer of ``diff`` as a JSON document, ``ltocompat/diff/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.model.diff import Change, Diff, DiffSummary, Metadata
from ltocompat.model.records_v1 import diff as v1
from ltocompat.model.requirement import LinkerFloor
from ltocompat.model.row import text_or_none
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import (
    Array,
    encode,
    error_document,
    failure_values,
    head,
    tail,
)


def document(records: Iterable[Diff | Failure], _: Options) -> Iterator[str]:
    """The pieces of the document."""
    failures: list[Failure] = []
    for record in records:
        if isinstance(record, Failure):
            failures.append(record)
            continue
        old, new = _side(record.old), _side(record.new)
        yield head(v1.Diff, "changes", old=old, new=new)
        rows = Array()
        for change in record.changes:
            yield rows.element(f"  {encode(_change(change, record.forbidden))}")
        summary = v1.Summary(len(record.changes), len(record.broken), failure_values(failures))
        whole = v1.Diff(old, new, (), record.unknown, record.forbidden, summary)
        yield from tail(whole, "changes")
        return
    yield error_document(failures or [Failure("internal", "nothing was compared")])


def _side(side: DiffSummary) -> v1.Side:
    return v1.Side(
        path=side.path,
        saved=side.saved,
        size=side.size,
        files=side.files,
        modules=side.modules,
        images=side.images,
        stored_size=side.stored,
        skipped=side.skipped,
        complete=side.complete,
        kernels=side.kernels,
        nvjitlink=_linker(side.nvjitlink) if side.nvjitlink else None,
        nvjitlink_beyond=side.nvjitlink_beyond,
        nvjitlink_imports=text_or_none(side.imports),
        driver_sass=text_or_none(side.driver_sass),
        driver_ptx=text_or_none(side.driver_ptx),
        ptx_beyond=side.ptx_beyond,
        metadata=_metadata(side.metadata) if side.metadata else None,
    )


def _linker(floor: LinkerFloor) -> v1.LinkerFloor:
    return v1.LinkerFloor(
        possible=str(floor.possible),
        sure=text_or_none(floor.sure),
        exact=floor.exact,
        ceiling=floor.ceiling,
    )


def _metadata(metadata: Metadata) -> v1.Metadata:
    return v1.Metadata(
        name=metadata.name,
        version=metadata.version,
        requires=tuple(metadata.requires),
        tags=tuple(metadata.tags),
    )


def _change(change: Change, forbidden: tuple[str, ...]) -> v1.Change:
    return v1.Change(
        kind=change.kind,
        subject=change.subject,
        about=change.about,
        old=change.old,
        new=change.new,
        count=change.count,
        breaking=change.breaking,
        forbidden=change.breaking in forbidden,
        places=tuple(str(place) for place in change.places),
    )
