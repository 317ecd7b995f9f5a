"""The answer of ``explain`` as ``ltocompat/explain/v1``, written as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ltocompat.commands.explain import Explained
from ltocompat.model.records_v1 import explain as v1
from ltocompat.report import Failure, Options
from ltocompat.report.formats.jsonstream import (
    Array,
    encode,
    error_document,
    failure_values,
    head,
    tail,
)


def document(records: Iterable[Explained | Failure], _: Options) -> Iterator[str]:
    """The pieces of the JSON document."""
    rows = Array()
    failures: list[Failure] = []
    begun = False
    for record in records:
        if isinstance(record, Failure):
            failures.append(record)
            continue
        if not begun:
            yield head(v1.Explain, "rules")
            begun = True
        yield rows.element(f"  {encode(_rule(record))}")
    if failures and not begun:
        yield error_document(failures)
        return
    if not begun:
        yield head(v1.Explain, "rules")
    yield from tail(v1.Explain((), v1.Summary(failure_values(failures))), "rules")


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
        built=entry.built,
        matched=entry.matched,
        score=entry.score,
    )
