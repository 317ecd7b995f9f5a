"""The answer of ``slim``: what went, what stays as it is, and what that costs, by package."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from ltocompat.model.generic import grouped
from ltocompat.model.slimmed import RemovalReason, Slimmed, Untouched
from ltocompat.model.verdict import Verdict
from ltocompat.model.words import count
from ltocompat.report import Failure, Options, Report, answers, rows_document
from ltocompat.report.document import Block, Code, Column, Entry, Heading, Items, Paragraph, Table
from ltocompat.report.text import binary_size, fold_archs

_TEXTS = {
    RemovalReason.OTHER_GPU: "for GPUs that are not kept",
    RemovalReason.NEVER_TAKEN: "no GPU uses it",
    RemovalReason.OTHER_CPU: "only GPUs with an Arm CPU use it",
    RemovalReason.SECOND_COPY: "hidden by an image for the same GPUs",
    RemovalReason.PACKED: "compressed again",
}
_COLUMNS = (
    Column("saved", right=True),
    Column("images", right=True),
    Column("reason", width=20),
)


def blocks(records: Iterable[Slimmed | Failure], _: Options) -> Iterator[Block]:
    """Yield the blocks of each path."""
    for record in answers(records):
        yield from _slimmed(record)


def _slimmed(slimmed: Slimmed) -> Iterator[Block]:
    yield Heading(_heading(slimmed))
    code = f"{binary_size(slimmed.code.stored)} of device code"
    device = f"{binary_size(slimmed.saved)} of {code} saved"
    if not slimmed.files:
        same = "every file stays" if slimmed.in_place else "the output is a copy"
        none = f"nothing removed from {code}" if slimmed.code.stored else "no device code"
        device = f"{none}, so {same}"
    zeros = f"; {binary_size(slimmed.code.zeros)} became zeros, "
    zeros += "which take no space in a package or on a disk"
    files = f" in {count(slimmed.files, 'file')}" if slimmed.files else ""
    yield Entry((f"{device}{files}{zeros if slimmed.code.zeros else ''}",))
    if slimmed.removed:
        rows = [(binary_size(x.size), f"{x.images:,}", _TEXTS[x.reason]) for x in slimmed.removed]
        yield Table(_COLUMNS, tuple(rows))
    if slimmed.files:
        verdicts = sum(row.before is not Verdict.NOT_FOR_GPU for row in slimmed.verdicts)
        same = f"compared before and after, by SHA-256: {count(slimmed.images, 'image')}"
        worse = f"{count(verdicts, 'verdict')} on kept GPUs, none of them worse"
        yield Paragraph((f"{same}; {worse}",))
    if slimmed.code.more_zstd:
        yield Paragraph((_floor(slimmed),))
    if slimmed.lost:
        by_modules = grouped(((row.lost, row.compiled), row.arch) for row in slimmed.lost)
        texts = (
            f"{fold_archs(archs)} ({count(lost + compiled, 'module')}"
            + (")" if lost else ", served only by PTX)")
            for (lost, compiled), archs in by_modules.items()
        )
        yield Paragraph(("GPUs with less code now: ", ", ".join(texts)))
    if slimmed.untouched:
        lines = ((_untouched(row), Code(row.example)) for row in slimmed.untouched)
        yield Items("left as it is", tuple(lines), None)
    yield from _old_parts(slimmed)


def _heading(slimmed: Slimmed) -> tuple[str, ...]:
    path = Code(slimmed.path)
    if slimmed.in_place:
        return path, ", slimmed in place"
    sizes = f"{binary_size(slimmed.size)} -> {binary_size(slimmed.new_size)}"
    failing = {row.gpu: 0 for row in slimmed.verdicts if row.gpu and row.after is Verdict.FAIL}
    fails = f"; fails on {', '.join(failing)}, before and after" if failing else ""
    return path, " -> ", Code(slimmed.output), f": {sizes}{fails}"


def _old_parts(slimmed: Slimmed) -> Iterator[Block]:
    if slimmed.void:
        yield Paragraph((f"signatures are void and left out: {', '.join(slimmed.void)}",))
    if slimmed.in_place and slimmed.files:
        back = Code(shlex.join(["cp", "-a", f"{slimmed.output}/.", slimmed.path]))
        output = Code(slimmed.output)
        yield Paragraph(("the original files are in ", output, "; to put them back: ", back))


def _untouched(row: Untouched) -> str:
    return f"{binary_size(row.size)} in {count(row.modules, 'module')}: {row.reason}; first "


def _floor(slimmed: Slimmed) -> str:
    before, more = slimmed.code.zstd, slimmed.code.more_zstd
    return (
        f"{before + more:,} of the kept images are compressed with Zstandard (before: {before:,}); "
        f"they need driver {slimmed.zstd_driver} (FB-01)"
    )


_COUNTS = rows_document("slim", lambda slimmed: {"artifacts": 1, "saved": slimmed.saved})
REPORT: Report[Slimmed] = Report(blocks, _COUNTS)
