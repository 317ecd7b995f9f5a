"""Packages of an environment or container image that a target loses: the fold of their verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product, tee

from ltocompat.model.generic import R, grouped
from ltocompat.model.target import Target
from ltocompat.model.verdict import OTHER_VARIANT, Loss, Result, Verdict


def with_losses(records: Iterable[R]) -> Iterator[R | Loss]:
    """Yield the records of an environment, then the packages that fail on each target."""
    shown, kept = tee(records)
    yield from shown
    yield from losses(kept)


def losses(records: Iterable[object]) -> Iterator[Loss]:
    """Yield the packages that fail on each target, the worst first; at last, targets without any.

    Args:
        records: the results; targets that come first keep their order.
    """
    told = [each for each in records if isinstance(each, Target | Result)]
    targets = dict.fromkeys(each if isinstance(each, Target) else each.target for each in told)
    results = (each for each in told if isinstance(each, Result))
    judged = (result for result in results if result.forgiven != OTHER_VARIANT)
    results_of = grouped(((result.counted, result.target), result) for result in judged)
    for verdict, target in product((Verdict.FAIL, Verdict.UNKNOWN), targets):
        lost = results_of.get((verdict, target), [])
        found = dict.fromkeys(name for result in lost for name in _names(result))
        # Packages that a reader installed by name stand before NVIDIA's, which these require.
        if names := sorted(found, key=lambda name: name.startswith("nvidia-")):
            losing = {result.gpu for result in lost}
            gpus = tuple(g.name for g in target.gpus if g in losing and losing < {*target.gpus})
            yield Loss(target, verdict, tuple(names), _asked(lost), gpus)
    lossy = {target for verdict, target in results_of if verdict >= Verdict.UNKNOWN}
    yield from (Loss(target, Verdict.OK, (), ()) for target in targets if target not in lossy)


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
