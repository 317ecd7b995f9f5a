"""The answer of ``inspect --weigh`` as a JSON document, ``ltocompat/weigh/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.model.records_v1 import weigh as v1
from ltocompat.model.row import text_or_none
from ltocompat.model.weight import Weight
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import Rows, failure_values


def document(records: Iterable[Weight | Failure], _: Options) -> Iterator[str]:
    """The pieces of the document, a path at a time."""
    rows = Rows(v1.Weigh, "artifacts")
    artifacts = stored = saved = 0
    for record in records:
        if isinstance(record, Failure):
            rows.failures.append(record)
        else:
            artifacts += 1
            stored += record.stored
            saved += record.saved
            yield from rows.row(_artifact(record))
    summary = v1.Summary(artifacts, stored, saved, failure_values(rows.failures))
    yield from rows.end(v1.Weigh((), summary))


def _artifact(weight: Weight) -> v1.Artifact:
    return v1.Artifact(
        path=weight.path,
        size=weight.size,
        files=weight.files,
        stored_size=weight.stored,
        overhead_size=weight.overhead,
        archs=tuple(
            v1.Arch(row.kind, text_or_none(row.arch), row.images, row.stored)
            for row in weight.archs
        ),
        libraries=tuple(
            v1.Library(
                place=str(row.place),
                machine=row.machine,
                modules=row.modules,
                images=row.images,
                stored_size=row.stored,
                saved=row.saved,
                host_debug_size=row.host_debug,
            )
            for row in weight.libraries
        ),
        saved=weight.saved,
        savings=tuple(
            v1.Saving(
                waste=saving.waste,
                saved=saving.saved,
                images=saving.images,
                estimated=saving.estimated,
                what=saving.what,
                fix=saving.fix,
            )
            for saving in weight.savings
        ),
        kernels=tuple(
            v1.Kernel(row.name, row.demangled, row.code, row.count) for row in weight.kernels
        ),
        kernels_left_out=weight.kernels_left_out,
        unsized_images=weight.unsized,
        skipped=weight.skipped,
    )
