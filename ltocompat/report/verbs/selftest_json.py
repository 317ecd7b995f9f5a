"""The answer of ``selftest`` as ``ltocompat/selftest/v1``, written as it comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ltocompat.commands.selftest import SelfTestStep
from ltocompat.model.records_v1 import selftest as v1
from ltocompat.model.row import text_or_none
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import Rows, failure_values


def document(records: Iterable[SelfTestStep | Failure], _: Options) -> Iterator[str]:
    """The pieces of the JSON document."""
    rows = Rows(v1.Selftest, "steps")
    counts: Counter[str] = Counter()
    stopped_at = None
    for record in records:
        if isinstance(record, Failure):
            rows.failures.append(record)
            continue
        counts[str(record.result)] += 1
        if record.result != "passed" and stopped_at is None:
            stopped_at = record.name
        yield from rows.row(_step(record))
    summary = v1.Summary(
        passed=counts["passed"],
        failed=counts["failed"],
        missing=counts["missing"],
        stopped_at=stopped_at,
        errors=failure_values(rows.failures),
    )
    yield from rows.end(v1.Selftest((), summary))


def _step(step: SelfTestStep) -> v1.Step:
    return v1.Step(
        step=step.name,
        way=step.way,
        target=text_or_none(step.target),
        gpu=step.gpu,
        result=str(step.result),
        detail=step.detail,
        seconds=step.seconds,
    )
