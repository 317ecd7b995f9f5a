"""The answer of ``selftest`` as ``ltocompat/selftest/v1``, written as it comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ltocompat.commands.selftest import SelfTestStep
from ltocompat.model.records_v1 import selftest as v1
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import (
    Array,
    encode,
    error_document,
    failure_values,
    head,
    tail,
)


def document(records: Iterable[SelfTestStep | Failure], _: Options) -> Iterator[str]:
    """The pieces of the JSON document."""
    rows = Array()
    failures: list[Failure] = []
    counts: Counter[str] = Counter()
    stopped_at = None
    for record in records:
        if isinstance(record, Failure):
            failures.append(record)
            continue
        if not counts:
            yield head(v1.Selftest, "steps")
        counts[str(record.result)] += 1
        if record.result != "passed" and stopped_at is None:
            stopped_at = record.name
        yield rows.element(f"  {encode(_step(record))}")
    if failures and not counts:
        yield error_document(failures)
        return
    if not counts:
        yield head(v1.Selftest, "steps")
    summary = v1.Summary(
        passed=counts["passed"],
        failed=counts["failed"],
        missing=counts["missing"],
        stopped_at=stopped_at,
        errors=failure_values(failures),
    )
    yield from tail(v1.Selftest((), summary), "steps")


def _step(step: SelfTestStep) -> v1.Step:
    return v1.Step(
        step=step.name,
        way=step.way,
        target=None if step.target is None else str(step.target),
        gpu=step.gpu,
        result=str(step.result),
        detail=step.detail,
        seconds=step.seconds,
    )
