"""Packages of an environment or container image that a target loses: the fold of their verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ltocompat.model.generic import R
from ltocompat.model.target import Target
from ltocompat.model.verdict import OTHER_VARIANT, Loss, Result, Verdict


def with_losses(records: Iterable[R]) -> Iterator[R | Loss]:
    """Yield the records of an environment, then the packages that fail on each target."""
    kept: list[Target | Result] = []
    for record in records:
        if isinstance(record, Target | Result):
            kept.append(record)
        yield record
    yield from losses(kept)


def losses(records: Iterable[object]) -> Iterator[Loss]:
    """Yield the packages that fail on each target, the worst first; at last, targets without any.

    Args:
        records: the results; targets that come first keep their order.
    """
    unsound: dict[tuple[Verdict, Target], list[Result]] = {}
    for record in records:
        if not isinstance(record, Target | Result):
            continue
        target = record if isinstance(record, Target) else record.target
        for verdict in (Verdict.FAIL, Verdict.UNKNOWN):
            unsound.setdefault((verdict, target), [])
        if isinstance(record, Result) and _is_unsound(record):
            unsound[record.counted, target].append(record)
    for (verdict, target), lost in sorted(unsound.items(), key=lambda cell: -cell[0][0]):
        found = dict.fromkeys(name for result in lost for name in _names(result))
        # Packages that a reader installed by name stand before NVIDIA's, which these require.
        if names := sorted(found, key=lambda name: name.startswith("nvidia-")):
            yield Loss(target, verdict, tuple(names), _asked(lost))
    lossy = {target for (_, target), lost in unsound.items() if lost}
    for target in dict.fromkeys(target for _, target in unsound if target not in lossy):
        yield Loss(target, Verdict.OK, (), ())


def _is_unsound(result: Result) -> bool:
    return result.counted >= Verdict.UNKNOWN and result.forgiven != OTHER_VARIANT


def _names(result: Result) -> Sequence[str]:
    """The packages behind a verdict, or files of no package; of an image, those in it."""
    findings = (finding for finding in result.findings if finding.verdict is result.counted)
    origins = (origin for finding in findings for origin in finding.origins)
    inside = [origin.distribution.partition(" ")[0] or origin.path for origin in origins]
    return inside or [result.distribution.partition(" ")[0] or result.path]


def _asked(results: Sequence[Result]) -> tuple[str, ...]:
    """The newest version of each kind that they ask for; none if a version does not cure all."""
    failing = [each for r in results for each in r.findings if each.verdict is Verdict.FAIL]
    if not all(finding.asked for finding in failing):
        return ()
    texts = sorted((text for finding in failing for text in finding.asked), key=_by_number)
    return tuple({text.rpartition(" ")[0]: text for text in texts}.values())


def _by_number(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text.rpartition(" ")[2])]
