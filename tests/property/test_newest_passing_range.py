"""The floor of verdicts by version, held to what its words say, version by version."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ltocompat.model.arch import Release
from ltocompat.model.verdict import Verdict
from ltocompat.rules.engine.find_floors import Objection, newest_passing_range

OBJECTIONS = [
    Objection(rule, verdict, "", about)
    for rule, about in (("A", True), ("B", True), ("C", False))
    for verdict in (Verdict.JIT, Verdict.UNDOCUMENTED, Verdict.UNKNOWN, Verdict.FAIL)
]


@st.composite
def lines(draw: st.DrawFn) -> Any:  # noqa: ANN401 - stands for a line of check
    objections = draw(st.frozensets(st.sampled_from(OBJECTIONS), max_size=3))
    verdict = max((each.verdict for each in objections), default=Verdict.OK)
    serves = draw(st.sampled_from([True, True, False]))
    result = SimpleNamespace(verdict=verdict if serves else Verdict.FAIL)
    return SimpleNamespace(objections=objections, serves=serves, result=result)


def fixed(objection: Objection) -> bool:
    """What is not about loading, no driver cures."""
    return not objection.about_loading


@settings(max_examples=300)
@given(st.lists(lines(), min_size=1, max_size=5))
def test_the_newest_range_is_as_good_as_any_version(drawn: list[Any]) -> None:
    releases = [Release(12, minor) for minor in range(len(drawn))]
    found = newest_passing_range(releases, drawn, fixed)
    served = any(line.serves and line.result.verdict < Verdict.FAIL for line in drawn)

    def verdicts(without: frozenset[Objection]) -> list[Verdict]:
        return [
            Verdict.FAIL
            if served and not line.serves
            else max(
                (o.verdict for o in line.objections - without if not fixed(o)), default=Verdict.OK
            )
            for line in drawn
        ]

    everywhere = frozenset.intersection(*(line.objections for line in drawn))
    best = min(verdicts(frozenset()))
    told = verdicts(everywhere if best > Verdict.JIT else frozenset())
    at_most = Verdict.JIT if best <= Verdict.JIT else max(Verdict.JIT, min(told))
    hopeless = any(o.verdict is Verdict.FAIL and fixed(o) for o in drawn[-1].objections)
    if best > Verdict.JIT:
        hopeless |= Verdict.FAIL in (at_most, *(o.verdict for o in everywhere))
    assert (found is None) == hopeless
    if found is None:
        return
    good = [verdict <= at_most for verdict in told]
    first, last, possible = (each.minor for each in (found.first, found.last, found.possible))
    assert found.verdict is at_most
    assert all(good[first : last + 1])
    assert not any(good[last + 1 :])
    assert first == 0 or not good[first - 1]
    assert all(verdict < Verdict.FAIL for verdict in told[possible:first])
    assert possible == 0 or told[possible - 1] is Verdict.FAIL
    before = drawn[first - 1].objections if first else ()
    constant = everywhere if best > Verdict.JIT else frozenset()
    asked = {o.rule for o in before if o.verdict > at_most and o not in constant and not fixed(o)}
    assert found.set_by == tuple(sorted(asked))
