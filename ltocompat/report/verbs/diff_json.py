"""The answer of ``diff`` as a JSON document, ``ltocompat/diff/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.model.diff import Change, Diff, DiffSummary, Metadata, Said
from ltocompat.model.requirement import LinkerFloor
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import (
    Array,
    encode,
    error_document,
    failure_value,
    head,
    tail,
)

SCHEMA = "ltocompat/diff/v1"

Json = dict[str, object]


def document(records: Iterable[Diff | Failure], _: Options) -> Iterator[str]:
    """The pieces of the document."""
    failures: list[Failure] = []
    for record in records:
        if isinstance(record, Failure):
            failures.append(record)
            continue
        yield head(SCHEMA, "changes", old=_summary(record.old), new=_summary(record.new))
        rows = Array()
        for change in record.changes:
            yield rows.element(f"  {encode(_change(change, record.forbidden))}")
        yield from tail(
            unknown=record.unknown,
            forbidden=record.forbidden,
            summary={
                "changes": len(record.changes),
                "forbidden": len(record.broken),
                "errors": [failure_value(failure) for failure in failures],
            },
        )
        return
    yield error_document(failures or [Failure("internal", "nothing was compared")])


def _summary(side: DiffSummary) -> Json:
    return {
        "path": side.path,
        "saved": side.saved,
        "size": side.size,
        "files": side.files,
        "modules": side.modules,
        "images": side.images,
        "stored_size": side.stored,
        "skipped": side.skipped,
        "complete": side.complete,
        "kernels": side.kernels,
        "nvjitlink": _linker(side.nvjitlink) if side.nvjitlink else None,
        "nvjitlink_imports": str(side.imports) if side.imports else None,
        "driver_sass": str(side.driver_sass) if side.driver_sass else None,
        "driver_ptx": str(side.driver_ptx) if side.driver_ptx else None,
        "ptx_beyond": side.ptx_beyond,
        "metadata": _metadata(side.metadata) if side.metadata else None,
    }


def _linker(floor: LinkerFloor) -> Json:
    return {
        "possible": str(floor.possible),
        "sure": str(floor.sure) if floor.sure else None,
        "exact": floor.exact,
        "ceiling": floor.ceiling,
    }


def _metadata(metadata: Metadata) -> Json:
    return {
        "name": metadata.name,
        "version": metadata.version,
        "requires": list(metadata.requires),
        "tags": list(metadata.tags),
    }


def _change(change: Change, forbidden: tuple[str, ...]) -> Json:
    return {
        "kind": change.kind,
        "subject": change.subject,
        "about": change.about,
        "old": _said(change.old),
        "new": _said(change.new),
        "count": change.count,
        "breaking": change.breaking,
        "forbidden": change.breaking in forbidden,
        "places": [str(place) for place in change.places],
    }


def _said(cell: Said) -> list[str] | int | None:
    return list(cell) if isinstance(cell, tuple) else cell
