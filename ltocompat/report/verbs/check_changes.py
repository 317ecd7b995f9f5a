"""What of the answer of ``check`` differs between its targets, worst first."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from ltocompat.model.target import Target
from ltocompat.model.verdict import Result, worst
from ltocompat.model.words import count
from ltocompat.report import Failure, Options
from ltocompat.report.document import Block, Paragraph
from ltocompat.report.grouped_findings import FindingReport
from ltocompat.report.verbs import check

Records = Iterable[Target | Result | Failure]


def _fate(result: Result) -> Hashable:
    """What of a result has to be equal on all targets for it to count as no change."""
    rules = frozenset((finding.rule, finding.verdict) for finding in result.findings)
    return result.verdict, result.not_judged, rules


def changed(records: Records) -> Iterator[Target | Result | Failure]:
    """The targets and failures, then the results that differ, artifacts with the worst first.

    A result differs where the same artifact fares otherwise on another target with the same GPU by
    the same route, or has no such other.
    """
    targets: set[str] = set()
    artifacts: dict[str, dict[Hashable, list[Result]]] = {}
    for record in records:
        if not isinstance(record, Result):
            targets |= {record.name} if isinstance(record, Target) else set()
            yield record
            continue
        alike = artifacts.setdefault(record.path, {})
        alike.setdefault((record.gpu and record.gpu.name, record.route), []).append(record)
    found = [
        [result for cells in alike.values() if _differs(cells, targets) for result in cells]
        for alike in artifacts.values()
    ]
    found.sort(key=lambda results: worst(result.verdict for result in results), reverse=True)
    for results in found:
        yield from results


def _differs(cells: list[Result], targets: set[str]) -> bool:
    on = {result.target.name for result in cells}
    # What holds on any target holds on each alike.
    return len(set(map(_fate, cells))) > 1 or (bool(on & targets) and not targets <= on)


def _blocks(records: Records, options: Options) -> Iterator[Block]:
    kept = list(records)
    shown = list(changed(kept))
    differing = {record.path for record in shown if isinstance(record, Result)}
    alike = {record.path for record in kept if isinstance(record, Result)} - differing
    if differing or not alike:
        yield from check.blocks(shown, options)
    if alike:
        verb = "fares" if len(alike) == 1 else "fare"
        yield Paragraph((f"{count(len(alike), 'artifact')} {verb} alike on all targets",))


def _document(records: Records, options: Options) -> Iterator[str]:
    return check.REPORT.document(changed(records), options)


REPORT: FindingReport[Target | Result] = FindingReport(_blocks, _document, changed)
