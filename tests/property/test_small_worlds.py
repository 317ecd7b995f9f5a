"""Small worlds: verdicts on sets, without GPUs, of several files and targets are plain folds.

All combinations of some artifacts, versions, GPUs and routes, each against a fold that is written
anew in ``small_worlds``, of verdicts on exact targets.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from random import Random
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace
from small_worlds import (
    GPUS,
    KINDS,
    VERSIONS,
    Made,
    Rows,
    artifacts,
    exit_code,
    expected,
    folded,
    some,
    target,
    versions,
)
from tiers import sampled

from ltocompat.commands.audit import AuditScope
from ltocompat.commands.policy.baseline import Baseline
from ltocompat.commands.policy.gate import audited
from ltocompat.commands.policy.values import Policy
from ltocompat.model.target import Quantifier, Target, VersionSet
from ltocompat.model.verdict import Coverage, Result, Route, Verdict
from ltocompat.report.exit_status import AuditStatus, CheckStatus, ExitStatus
from ltocompat.rules.engine.fold_versions import over_versions

PAIRS = list(combinations(VERSIONS, 2))
BESIDE = ((), ("driver",), ("driver", "nvjitlink"), ("nvjitlink",))
"""Parts that a target has beside the pair, exactly."""
FAIL_ON = (Verdict.JIT, Verdict.UNDOCUMENTED, Verdict.UNKNOWN, Verdict.FAIL)
ROUTES = (None, None, Route.LOAD, Route.LINK)
PART = 16
"""The quick tier looks at one world in so many."""


class World(Struct, frozen=True):
    """An artifact, where it is going, and by which route."""

    made: Made
    target: Target
    wanted: Route | None


def worlds(keys: tuple[str, str]) -> Iterator[World]:
    """Every artifact with every pair of sets, for one GPU, several or none."""
    kinds_and_gpus = product(KINDS, KINDS, (GPUS[1:2], GPUS, ()))
    for number, (made, (first, second, gpus)) in enumerate(product(artifacts(), kinds_and_gpus)):
        draw = Random(f"{keys} {number}")  # noqa: S311 - which versions is no secret
        parts = {
            key: versions("exact", some(key, draw.randrange(4))) for key in draw.choice(BESIDE)
        }
        for key, kind in zip(keys, (first, second), strict=True):
            parts[key] = versions(kind, some(key, draw.randrange(4), draw.choice((2, 2, 3))))
        yield World(made, target(gpus, **parts), draw.choice(ROUTES))


def judged(world: World, rows: Rows) -> list[Result]:
    """The verdicts of a world, which are those that are expected."""
    found = list(world.made.results(world.target, world.wanted))
    assert {(result.gpu, result.route): result.verdict for result in found} == rows
    assert len(found) == len(rows)
    for result in found:
        assert result.target == world.target
        if result.verdict is not Verdict.OK and world.made.summary.groups:
            assert result.verdict is max(finding.verdict for finding in result.findings)
    return found


def holds(keys: tuple[str, str], step: int) -> None:
    """The law on sets, and what any few of these worlds come to by check and audit."""
    answers = []
    for world in list(worlds(keys))[::step]:
        rows, lines = expected(world.made, world.target, world.wanted)
        answers.append((world, judged(world, rows), lines))
    draw = Random("-".join(keys))  # noqa: S311 - which come together is no secret
    draw.shuffle(answers)
    while answers:
        together = [answers.pop() for _ in range(min(len(answers), draw.randrange(1, 4)))]
        found = [result for _, results, _ in together for result in results]
        lines = [line for _, _, of_world in together for line in of_world]
        for fail_on, allow_empty in product(FAIL_ON, (False, True)):
            strict = fail_on < Verdict.FAIL
            assert checked(found, fail_on, allow_empty=allow_empty) == exit_code(
                lines, fail_on, allow_empty=allow_empty, halves_count=strict
            )
        loose = not any(world.made.summary.single_link for world, _, _ in together)
        fail_on, allow_empty = draw.choice(FAIL_ON), draw.random() < 0.5
        assert not loose or audited_as(found, fail_on, allow_empty=allow_empty) == exit_code(
            lines, fail_on, allow_empty=allow_empty, halves_count=True
        )


def code_of(status: ExitStatus[Any], records: Iterable[Any]) -> int:
    for _ in status.track(records, io.StringIO()):
        pass
    return status.code


def checked(found: Sequence[Result], fail_on: Verdict, *, allow_empty: bool) -> int:
    return code_of(CheckStatus(fail_on=fail_on, allow_empty=allow_empty), found)


def audited_as(found: Sequence[Result], fail_on: Verdict, *, allow_empty: bool) -> int:
    policy = Policy(
        source="ltocompat.toml",
        targets=tuple({result.target for result in found}),
        fail_on=fail_on,
        allow_empty=allow_empty,
    )
    nothing = Baseline()
    records = (each for result in found for each in audited([result], policy, nothing))
    return code_of(AuditStatus(), [AuditScope(policy, nothing), *records])


@pytest.mark.parametrize("keys", PAIRS, ids="-".join)
def test_sets_files_and_targets_are_folded(keys: tuple[str, str]) -> None:
    holds(keys, PART)


@pytest.mark.slow
@pytest.mark.parametrize("keys", sampled(PAIRS, 3), ids="-".join)
def test_all_sets_files_and_targets_are_folded(keys: tuple[str, str]) -> None:
    holds(keys, 1)


def is_folded(keys: tuple[str, str], kinds: Sequence[str], share: slice) -> None:
    """The law on tables of two versions by two: verdicts on one row, or no such row."""
    parts = {key: versions(kind, some(key, 0)) for key, kind in zip(keys, kinds, strict=True)}
    where = target((), **parts)
    combinations = [
        replace(where, **dict(zip(keys, each, strict=True)))
        for each in product(*(parts[key].each for key in keys))
    ]
    gpu, route = GPUS[0], Route.LOAD
    results = {
        verdict: Result("x", where, gpu, route, verdict, Coverage(1), (), (), ())
        for verdict in list(Verdict)[1:]
    }
    tables = list(product([None, *results], repeat=len(combinations)))
    for verdicts in tables[share]:
        said = dict(zip(combinations, verdicts, strict=True))

        def judge(exact: Target, said: Mapping[Target, Verdict | None] = said) -> list[Result]:
            verdict = said[exact]
            return [] if verdict is None else [results[verdict]]

        def rows_on(exact: Target, judge: Callable[[Target], list[Result]] = judge) -> Rows:
            return {(each.gpu, each.route): each.verdict for each in judge(exact)}

        found = over_versions(where, judge)
        assert {(each.gpu, each.route): each.verdict for each in found} == folded(where, rows_on)


@pytest.mark.parametrize("keys", PAIRS, ids="-".join)
def test_every_table_of_two_by_two_is_folded(keys: tuple[str, str]) -> None:
    """Verdicts that no rule of today gives together are folded all the same.

    Each table is that of one pair of keys: nothing that is folded by two keys asks which they are.
    """
    for kinds in product(KINDS[1:], repeat=2):
        is_folded(keys, kinds, slice(PAIRS.index(keys), None, len(PAIRS)))


@pytest.mark.nightly
@pytest.mark.parametrize("keys", PAIRS, ids="-".join)
def test_every_table_is_folded_by_every_pair_of_keys(keys: tuple[str, str]) -> None:
    for kinds in product(KINDS[1:], repeat=2):
        is_folded(keys, kinds, slice(None))


def rows_of(world: World, **parts: VersionSet[Any]) -> list[Verdict]:
    found = world.made.results(replace(world.target, **parts), world.wanted)
    return [result.verdict for result in found]


def worst_of(world: World, **parts: VersionSet[Any]) -> Verdict:
    return max(rows_of(world, **parts))


def is_monotone(world: World, keys: tuple[str, str]) -> None:
    """Laws 6 and 8 on a world, whatever the fold is."""
    whole = worst_of(world)
    for key in keys:
        known = getattr(world.target, key)
        members = [worst_of(world, **{key: member}) for member in known.each]
        if known.quantifier is Quantifier.ALL:
            assert whole >= max(members)
        elif whole is Verdict.FAIL:
            assert set(members) == {Verdict.FAIL}
        elif not world.target.gpus:  # no version is left on which some GPU passes
            on_all = [rows_of(world, **{key: member}) for member in known.each]
            assert any({*verdicts} != {Verdict.FAIL} for verdicts in on_all)
    gpus = world.target.gpus
    for number in range(1, len(gpus)):
        fewer = World(world.made, replace(world.target, gpus=gpus[:number]), world.wanted)
        assert whole >= worst_of(fewer)


@pytest.mark.parametrize("keys", PAIRS, ids="-".join)
def test_more_versions_and_gpus_never_better_a_verdict(keys: tuple[str, str]) -> None:
    for world in list(worlds(keys))[:: 4 * PART]:
        is_monotone(world, keys)


@pytest.mark.slow
@pytest.mark.parametrize("keys", PAIRS, ids="-".join)
def test_more_versions_and_gpus_never_better_any_verdict(keys: tuple[str, str]) -> None:
    for world in list(worlds(keys))[1::8]:
        is_monotone(world, keys)
