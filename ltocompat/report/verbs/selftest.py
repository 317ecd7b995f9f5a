"""The answer of ``selftest``: each step, and where it stopped; ``ltocompat/selftest/v1``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ltocompat.commands.selftest import SelfTestStep
from ltocompat.model.projection import project
from ltocompat.report import Failure, Options, Report, answers
from ltocompat.report.document import Block, Column, Paragraph, Table

_COLUMNS = (
    Column("step"),
    Column("mode"),
    Column("target"),
    Column("GPU", right=True),
    Column("result"),
    Column("time", right=True, optional=True),
    Column("what", width=24),
)


def blocks(records: Iterable[SelfTestStep | Failure], _: Options) -> Iterator[Block]:
    """Yield the step at which it stopped, then a row per step."""
    steps = [*answers(records)]
    if not steps:
        yield Paragraph(("nothing was tested",))
        return
    yield Paragraph((_told(steps),))
    yield Table(_COLUMNS, tuple(_row(step) for step in steps))


def _row(step: SelfTestStep) -> tuple[str, ...]:
    return (
        step.name,
        step.way or "",
        str(step.target or ""),
        "" if step.gpu is None else str(step.gpu),
        str(step.result),
        "" if step.seconds is None else f"{step.seconds * 1000:.1f} ms",
        step.detail,
    )


def _told(steps: list[SelfTestStep]) -> str:
    """All in one sentence."""
    for step in steps:
        if step.result == "failed":
            way = f" ({step.way})" if step.way else ""
            return f"this machine stops at {step.name}{way}: {step.detail}"
    missing = [step for step in steps if step.result == "missing"]
    if not missing:
        return "this machine compiles, links, loads and runs PTX and LTO-IR, with correct results"
    if any(step.name == "run" for step in steps):
        end = "not everything was tried"
    elif any(step.name == "link" for step in steps):
        end = "all steps up to linking work; this machine can't go further"
    else:
        end = "nothing was linked"
        # What stands in the way first; whether a driver is there matters later.
        missing.sort(key=lambda step: step.name == "driver")
    return f"{end}: {missing[0].detail}"


def _document(records: Iterable[SelfTestStep | Failure], _: Options) -> Iterator[str]:
    # Imported here: a table needs no JSON.
    from ltocompat.model.records_v1 import selftest as v1
    from ltocompat.report.formats.jsonstream import Rows

    rows = Rows(v1.Selftest, "steps")
    counts: Counter[str] = Counter()
    stopped_at = None
    for step in rows.answers(records):
        counts[str(step.result)] += 1
        if step.result != "passed" and stopped_at is None:
            stopped_at = step.name
        yield from rows.row(project(v1.Step, step))
    passed, failed, missing = counts["passed"], counts["failed"], counts["missing"]
    summary = v1.Summary(passed, failed, missing, stopped_at, errors=rows.errors)
    yield from rows.end(v1.Selftest((), summary))


REPORT: Report[SelfTestStep] = Report(blocks, _document)
