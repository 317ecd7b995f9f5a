"""Without gpu=, what is judged is what the artifact serves: the same as naming those GPUs."""

from __future__ import annotations

import pytest
from generated_artifacts import ARTIFACTS, GROUPS, IDLE, artifact
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ltocompat.facts.gpus import linker_targets
from ltocompat.model.artifact_summary import ArtifactSummary
from ltocompat.model.target import Target
from ltocompat.model.verdict import worst
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.targets import parse

TARGETS = [
    parse([text])[0]
    for text in (
        *("driver=525", "driver=550", "driver=580.95.05", "driver=615"),
        *("cuda=12.4", "cuda=13.0", "nvjitlink=12.4", "nvjitlink=13.5"),
        # Of a range, a GPU is judged on the drivers that run it: test_small_worlds has those.
        *("driver=580.95.05,nvjitlink=12.9", "driver=615,os=linux-aarch64"),
    )
]
DRIVERS_GPUS = {  # `last_branch` and `first_branch` of the table, by hand
    "driver=525": {50, 52, 60, 61, 70, 75, 80, 86, 89, 90},
    "driver=550": {50, 52, 60, 61, 70, 75, 80, 86, 89, 90},
    "driver=615": {75, 80, 86, 89, 90, 100, 103, 107, 120, 121},
}


def law(summary: ArtifactSummary, target: Target) -> None:
    found = list(results(summary, target))
    named = [result for result in found if result.gpu is not None]
    assert not named or len(named) == len(found)
    for result in named:
        assert result.coverage.served
        assert result.target == target
        assert result.gpu is not None
        alone = replace(target, gpus=(result.gpu,))
        twin = [r for r in results(summary, alone) if r.route is result.route]
        assert [replace(r, target=target) for r in twin] == [result]
    everywhere = parse(["driver=615,gpu=all" if target.driver is None else "gpu=all"])[0].gpus
    every = results(summary, replace(target, gpus=everywhere))
    # What it has SASS or PTX for is judged, whatever the linker does.
    loaded = {r.gpu.arch.number for r in every if r.gpu and r.coverage.sass + r.coverage.ptx}
    possible = DRIVERS_GPUS.get(target.name, set())
    assert loaded & possible <= {r.gpu.arch.number for r in named if r.gpu}
    if target.driver is None and target.nvjitlink is not None:
        able = frozenset[int]().union(*map(linker_targets, target.nvjitlink.values))
        assert {r.gpu.arch.number for r in named if r.gpu} <= able
    assert worst(r.verdict for r in found) == max(r.verdict for r in found)


@given(ARTIFACTS, st.sampled_from(TARGETS))
@settings(max_examples=20)
def test_a_row_is_that_of_the_gpu_named(summary: ArtifactSummary, target: Target) -> None:
    law(summary, target)


@given(IDLE, st.sampled_from([target for target in TARGETS if target.driver is not None]))
@settings(max_examples=40)
def test_code_without_kernels_asks_no_target_for_its_gpus(
    summary: ArtifactSummary, target: Target
) -> None:
    found = {result.route: result for result in results(summary, target)}
    everywhere = replace(target, gpus=parse(["gpu=sm_75+sm_80+sm_90"])[0].gpus)
    for result in results(summary, everywhere):
        whole = found[result.route]
        assert (whole.gpu, whole.verdict) == (None, result.verdict)
        assert [f.rule for f in whole.findings] == [f.rule for f in result.findings]


@pytest.mark.slow
@given(ARTIFACTS, st.sampled_from(TARGETS))
@settings(max_examples=200)
def test_a_row_is_that_of_the_gpu_named_for_more(summary: ArtifactSummary, target: Target) -> None:
    law(summary, target)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_each_module_of_the_samples(target: Target) -> None:
    for group in GROUPS:
        law(artifact([group], []), target)
