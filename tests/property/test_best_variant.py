"""Variants: the best that fits decides, and nothing is ever better than one of them judged alone.

The variants of a made-up package are its modules and host files under names that a loader chooses
among. What they come to together is held against each of them in a package of its own.
"""

from __future__ import annotations

from generated_artifacts import GROUPS
from generated_targets import targets
from generated_variants import PACKAGES, Package, package, placed, whole
from hypothesis import given, settings

from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.target import Target
from ltocompat.model.verdict import Result, Route, Verdict
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.targets import parse

few = settings(max_examples=200)


def on(summary: ArtifactSummary, target: Target) -> dict[tuple[object, object], Result]:
    return {(result.gpu, result.route): result for result in results(summary, target)}


@few
@given(PACKAGES, targets())
def test_the_best_of_the_variants_that_serve_a_gpu_decides(made: Package, target: Target) -> None:
    common, parts = made
    for cell, result in on(whole(common, parts), target).items():
        each = [on(package(common, part), target) for part in parts]
        alone = [on(package(part), target) for part in parts]
        found = [row.get(cell) or row.get((cell[0], None)) for row in each]
        serving = [
            verdict
            for verdict, row in zip(found, alone, strict=True)
            if (own := row.get(cell) or row.get((cell[0], None))) and own.coverage.served
        ]
        possible = [verdict.verdict for verdict in serving or found if verdict is not None]
        if cell[1] is None:
            assert result.verdict == min(possible)
        (decides,) = [each for each in result.variants if each.decides]
        assert decides.verdict is result.verdict
        assert decides.serves or not any(each.serves for each in result.variants)


@few
@given(PACKAGES, targets())
def test_no_package_is_better_than_one_of_its_variants(made: Package, target: Target) -> None:
    common, parts = made
    each = [on(package(common, part), target) for part in parts]
    for cell, result in on(whole(common, parts), target).items():
        # A variant whose modules all have one way has no line of its own for each.
        alone = [row.get(cell) for row in each]
        if None not in alone:
            assert result.verdict >= min(found.verdict for found in alone if found is not None)


def test_a_variant_that_cannot_go_a_route_is_no_choice_on_it() -> None:
    # Loaded, PTX and SASS for sm_80 fail on sm_75; that LTO-IR is not loaded makes it no better.
    names = ("nvcc-13.0-compute_80.ptx", "nvcc-13.0-sm_80.cubin", "nvfatbin-12.4-of-12.0-lto_80")
    found = [next(g for g in GROUPS if name in g.example.path) for name in names]
    parts = tuple(placed([group], [], f"x_cu{11 + n}.so") for n, group in enumerate(found))
    (target,) = parse(["driver=580.65.06,nvjitlink=12.0,gpu=sm_75"])
    rows = on(whole(placed([], [], "common.so"), parts), target)
    assert {route: result.verdict for (_, route), result in rows.items()} == {
        Route.LOAD: Verdict.FAIL,
        Route.LINK: Verdict.FAIL,
    }
