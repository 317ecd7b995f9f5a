"""The answer of ``explain`` as ``ltocompat/explain/v1``, written as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.commands.explain import Explained
from ltocompat.model.records_v1 import explain as v1
from ltocompat.model.version import rule_url
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import Rows, failure_values


def document(records: Iterable[Explained | Failure], _: Options) -> Iterator[str]:
    """The pieces of the JSON document."""
    rows = Rows(v1.Explain, "rules")
    for entry in records:
        if isinstance(entry, Failure):
            rows.failures.append(entry)
            continue
        yield from rows.row(_rule(entry))
    yield from rows.end(v1.Explain((), v1.Summary(failure_values(rows.failures))))


def _rule(entry: Explained) -> v1.Rule:
    return v1.Rule(
        id=entry.id,
        title=entry.title,
        statement=entry.statement,
        condition=entry.condition,
        evidence=entry.evidence,
        verdict=entry.verdict,
        messages=tuple(entry.messages),
        remedy=entry.remedy,
        source=entry.source,
        url=rule_url(entry.id),
        built=entry.built,
        matched=entry.matched,
        score=entry.score,
        line=entry.line,
        cause=entry.cause,
        fix=entry.fix,
        check=entry.check,
        values=dict(entry.values),
        also=entry.also,
        at_fault=tuple(v1.AtFault(fault.place, fault.reason) for fault in entry.at_fault),
    )
