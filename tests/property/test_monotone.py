"""Monotone: one more GPU, version or requirement never betters what was judged before."""

from __future__ import annotations

from generated_artifacts import ARTIFACTS
from generated_targets import GPUS, LINKERS, targets
from generated_variants import HOSTS, PACKAGE, PACKAGES, Package, whole
from hypothesis import given, settings
from msgspec.structs import replace

from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, own_linker
from ltocompat.model.image import HostBinary
from ltocompat.model.location import Location
from ltocompat.model.target import Gpu, Quantifier, Target, VersionSet
from ltocompat.model.verdict import Result, worst
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.rules.engine.judge_artifact import results

some = settings(max_examples=30)


def fold(found: list[Result]) -> int:
    return worst(result.verdict for result in found)


@some
@given(ARTIFACTS, targets(), GPUS)
def test_one_more_gpu_never_betters_a_target(
    summary: ArtifactSummary, target: Target, gpu: Gpu
) -> None:
    more = replace(target, gpus=(*target.gpus, gpu))
    before = [replace(result, target=more) for result in results(summary, target)]
    after = list(results(summary, more))
    assert after[: len(before)] == before
    assert fold(after) >= fold(before)


@some
@given(ARTIFACTS, targets(), LINKERS)
def test_one_more_nvjitlink_that_must_work_never_betters_a_target(
    summary: ArtifactSummary, target: Target, linker: Release
) -> None:
    assert target.nvjitlink is not None
    values = tuple(sorted({*target.nvjitlink.values, linker}))
    both = VersionSet("both", values, Quantifier.ALL, "given")
    before = fold(list(results(summary, target)))
    assert fold(list(results(summary, replace(target, nvjitlink=both)))) >= before


@some
@given(ARTIFACTS, targets(), HOSTS)
def test_one_more_host_file_never_betters_an_artifact(
    summary: ArtifactSummary, target: Target, host: HostBinary
) -> None:
    if own_linker(summary) is not None:
        return  # what is linked by a copy inside is then linked by another one
    more = replace(summary, hosts=[*summary.hosts, host])
    assert fold(list(results(more, target))) >= fold(list(results(summary, target)))


@settings(max_examples=5)
@given(ARTIFACTS, HOSTS)
def test_one_more_host_file_never_lowers_a_floor(
    summary: ArtifactSummary, host: HostBinary
) -> None:
    if own_linker(summary) is not None:
        return
    more = replace(summary, hosts=[*summary.hosts, host])
    for before, after in zip(required(summary).services, required(more).services, strict=True):
        for old, new in zip(before.routes, after.routes, strict=True):
            if old.verdict is new.verdict and old.driver and new.driver:
                assert new.driver >= old.driver, (before.number, old, new)
            if old.verdict is new.verdict and old.nvjitlink and new.driver:
                assert new.nvjitlink is not None
                assert new.nvjitlink >= old.nvjitlink, (before.number, old, new)


@some
@given(PACKAGES, targets(), GPUS, LINKERS, HOSTS)
def test_one_more_gpu_nvjitlink_or_common_file_never_betters_variants(
    made: Package, target: Target, gpu: Gpu, linker: Release, host: HostBinary
) -> None:
    common, parts = made
    summary = whole(common, parts)
    before = fold(list(results(summary, target)))
    wider = replace(target, gpus=(*target.gpus, gpu))
    assert fold(list(results(summary, wider))) >= before
    assert target.nvjitlink is not None
    values = tuple(sorted({*target.nvjitlink.values, linker}))
    both = VersionSet("both", values, Quantifier.ALL, "given")
    stricter = replace(target, nvjitlink=both)
    assert fold(list(results(summary, stricter))) >= before
    more = replace(
        summary, hosts=[*summary.hosts, replace(host, place=Location(PACKAGE, ("y.so",)))]
    )
    assert fold(list(results(more, target))) >= before
