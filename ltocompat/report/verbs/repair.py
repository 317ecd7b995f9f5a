"""The answer of ``repair``: of each wheel the findings that are mended, and the diff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.model.mend import Repaired
from ltocompat.report import Failure, Options, Report, answers, rows_document
from ltocompat.report.document import Block, Code, Entry, Heading, Items, Paragraph


def blocks(records: Iterable[Repaired | Failure], _: Options) -> Iterator[Block]:
    """Yield the changes of each wheel."""
    for wheel in answers(records):
        yield Heading((Code(wheel.path), *((" -> ", Code(wheel.output)) if wheel.output else ())))
        lines = [
            (f"{each.rule} stays: {each.message}; {each.reason}",)
            if each.reason
            else (f"{each.rule} is fixed: {each.message}",)
            for each in wheel.findings
        ]
        yield Items("findings", tuple(lines)) if lines else Paragraph(("nothing to fix",))
        yield from (Entry((Code(line),)) for line in wheel.diff)
        for name in wheel.void:
            yield Paragraph((Code(name), " is left out: it signs the old wheel"))
        if wheel.after is not None:
            text = (
                f"read again, and is {wheel.after} (before: {wheel.before}), without a new finding"
            )
            yield Paragraph(
                (f"checked: the new wheel was {text} or a changed image of device code",)
            )


def _counts(wheel: Repaired) -> dict[str, int]:
    mended = sum(not finding.reason for finding in wheel.findings)
    return {"written": wheel.output is not None, "mended": mended}


REPORT: Report[Repaired] = Report(blocks, rows_document("repair", _counts))
