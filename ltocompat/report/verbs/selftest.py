"""The answer of ``selftest``: each step, and where it stopped; ``ltocompat/selftest/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ltocompat.report import Failure, Options, Report
from ltocompat.report.document import Block, Column, Paragraph, Table
from ltocompat.report.formats.jsonstream import (
    Array,
    encode,
    error_document,
    failure_value,
    head,
    tail,
)

if TYPE_CHECKING:
    from ltocompat.commands.selftest import SelfTestStep

SCHEMA = "ltocompat/selftest/v1"

_COLUMNS = (
    Column("step"),
    Column("way"),
    Column("target"),
    Column("GPU", right=True),
    Column("result"),
    Column("time", right=True, optional=True),
    Column("what", width=24),
)
_RESULTS = ("passed", "failed", "missing")


def blocks(records: Iterable[SelfTestStep | Failure], _: Options) -> Iterator[Block]:
    """A row a step, then where it stopped."""
    steps = [record for record in records if not isinstance(record, Failure)]
    if not steps:
        yield Paragraph(("nothing was tested",))
        return
    yield Table(_COLUMNS, tuple(_row(step) for step in steps))
    yield Paragraph((_told(steps),))


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
        return "this machine compiles, links, loads and runs PTX and LTO-IR, with the right numbers"
    if any(step.name == "run" for step in steps):
        end = "not everything was tried"
    elif any(step.name == "link" for step in steps):
        end = "all is well up to linking, where this machine stops"
    else:
        end = "nothing was linked"
        # What stands in the way first; whether a driver is there matters later.
        missing.sort(key=lambda step: step.name == "driver")
    return f"{end}: {missing[0].detail}"


def document(records: Iterable[SelfTestStep | Failure], _: Options) -> Iterator[str]:
    """The pieces of the JSON document."""
    rows = Array()
    failures: list[Failure] = []
    counts = dict.fromkeys(_RESULTS, 0)
    stopped_at = None
    for record in records:
        if isinstance(record, Failure):
            failures.append(record)
            continue
        if not any(counts.values()):
            yield head(SCHEMA, "steps")
        counts[str(record.result)] += 1
        if record.result != "passed" and stopped_at is None:
            stopped_at = record.name
        yield rows.element(f"  {encode(_value(record))}")
    if failures and not any(counts.values()):
        yield error_document(failures)
        return
    if not any(counts.values()):
        yield head(SCHEMA, "steps")
    errors = [failure_value(failure) for failure in failures]
    yield from tail(summary={**counts, "stopped_at": stopped_at, "errors": errors})


def _value(step: SelfTestStep) -> dict[str, object]:
    return {
        "step": step.name,
        "way": step.way,
        "target": None if step.target is None else str(step.target),
        "gpu": step.gpu,
        "result": str(step.result),
        "detail": step.detail,
        "seconds": step.seconds,
    }


REPORT: Report[SelfTestStep] = Report(blocks, document)
