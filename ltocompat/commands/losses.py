"""Packages of an environment that a target loses: the fold of their verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ltocompat.model.generic import R
from ltocompat.model.target import Target
from ltocompat.model.verdict import OTHER_VARIANT, Loss, Result, Verdict


def with_losses(records: Iterable[R]) -> Iterator[R | Loss]:
    """Yield the records, then the packages that fail on each target, the worst first."""
    unsound: dict[tuple[Verdict, Target], list[Result]] = {}
    for record in records:
        if isinstance(record, Target):  # they come first, and keep their order
            unsound |= {(Verdict.FAIL, record): [], (Verdict.UNKNOWN, record): []}
        elif isinstance(record, Result) and _is_unsound(record):
            unsound.setdefault((record.counted, record.target), []).append(record)
        yield record
    for (verdict, target), lost in sorted(unsound.items(), key=lambda cell: -cell[0][0]):
        found = dict.fromkeys(each.distribution.partition(" ")[0] or each.path for each in lost)
        # Packages that a reader installed by name stand before NVIDIA's, which these require.
        if names := sorted(found, key=lambda name: name.startswith("nvidia-")):
            yield Loss(target, verdict, tuple(names), _asked(lost))


def _is_unsound(result: Result) -> bool:
    return result.counted >= Verdict.UNKNOWN and result.forgiven != OTHER_VARIANT


def _asked(results: Sequence[Result]) -> tuple[str, ...]:
    """The newest version of each kind that they ask for; none if a version does not cure all."""
    failing = [each for r in results for each in r.findings if each.verdict is Verdict.FAIL]
    if not all(finding.asked for finding in failing):
        return ()
    texts = sorted((text for finding in failing for text in finding.asked), key=_by_number)
    return tuple({text.rpartition(" ")[0]: text for text in texts}.values())


def _by_number(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text.rpartition(" ")[2])]
