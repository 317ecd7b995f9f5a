"""Of the variants of a package the one that fits best decides: its loader opens one of them.

Each variant is judged with all that is in no variant. One that has nothing for a GPU that another
one serves is no choice there: beside code that serves it would be neutral, and hide that the others
fail.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ltocompat.model.artifact_summary import Variant
from ltocompat.model.late_lines import LateLines
from ltocompat.model.verdict import (
    WHOLE_ARTIFACT,
    Finding,
    Result,
    VariantVerdict,
    Verdict,
)
from ltocompat.rules.builtin_rules import ROUTE_IMPOSSIBLE, VARIANT_DECIDES
from ltocompat.rules.engine.findings import finding_by_engine


class JudgedVariant(Struct, frozen=True):
    """A variant on one target, GPU and route.

    Attributes:
        variant: the variant.
        result: of it and all that is in no variant.
        alone: of it by itself.
    """

    variant: Variant
    result: Result
    alone: Result

    @property
    def serves(self) -> bool:
        """Return whether it has something for the GPU itself."""
        return self.alone.coverage.served > 0

    @property
    def goes_this_way(self) -> bool:
        """Return whether any of its modules can be loaded, or linked, where the others are."""
        return all(finding.rule != ROUTE_IMPOSSIBLE for finding in self.alone.findings)


def best_of(judged: Sequence[JudgedVariant]) -> Result:
    """The result of the variant that fits best, with what became of the others.

    Args:
        judged: every variant, oldest first.
    """
    with_code = [each for each in judged if each.alone.coverage.modules]
    this_way = [each for each in with_code if each.goes_this_way]
    choices = [each for each in judged if each.serves] or this_way or with_code or judged
    best = min(reversed(choices), key=_order)
    if best.result.without_device_code:
        return best.result
    outcome = tuple(_verdict(each, serves=each in choices, decides=each is best) for each in judged)
    note = note_of_variants(outcome)
    findings = (*best.result.findings, note)
    why = LateLines(functools.partial(chain, (note.message,), best.result.why))
    return replace(best.result, findings=findings, variants=outcome, why=why)


def _order(judged: JudgedVariant) -> tuple[Verdict, int, int, int]:
    """The better verdict; then more that is known, less that is wrong, and more that serves."""
    result = judged.result
    wrong = sum(finding.verdict is result.verdict for finding in result.findings)
    return result.verdict, len(result.not_judged), wrong, -result.coverage.served


def _verdict(judged: JudgedVariant, *, serves: bool, decides: bool) -> VariantVerdict:
    against = (each.rule for each in judged.result.findings if each.verdict > Verdict.JIT)
    return VariantVerdict(
        judged.variant.name,
        judged.variant.version,
        judged.result.verdict,
        tuple(dict.fromkeys(against)),
        serves,
        decides,
    )


def note_of_variants(every: Sequence[VariantVerdict]) -> Finding:
    """The note on the variant that decides, and on the others.

    Args:
        every: all of them, oldest first; one decides.
    """
    alike: dict[str, list[str]] = {}
    for each in every:
        if not each.decides:
            alike.setdefault(each.outcome, []).append(each.version)
    others = "; ".join(f"{', '.join(versions)} {outcome}" for outcome, versions in alike.items())
    name = next(each.name for each in every if each.decides)
    return finding_by_engine(
        VARIANT_DECIDES,
        Verdict.OK,
        f"of {len(every)} variants {name} fits best and decides; the others: {others}",
        "versions of CUDA in paths or sonames, names that they export, DT_NEEDED",
        headline=f"{name} decides; the other variants: {others}",
        subject=WHOLE_ARTIFACT,
    )
