"""What `require` prints passes `check`, for every line and GPU; one step below it does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st
from samples import FOLDER

from ltocompat.commands.read_artifacts import ScanOptions, summaries
from ltocompat.facts import drivers, nvjitlink_minors
from ltocompat.facts.gpus import find_gpu
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.requirement import Required, Service
from ltocompat.model.target import DriverVersion, Quantifier, Target, VersionSet
from ltocompat.model.verdict import Result, Verdict, worst
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.scan.walk import ScanSettings

Version = TypeVar("Version", Release, DriverVersion)

WORKS = Verdict.UNDOCUMENTED
"""The worst verdict of what works, promised or not."""

NEWEST = drivers.first_production(drivers.driver_branches()[-1])


def groups_of_samples() -> Iterator[ModuleGroup]:
    """The modules of all samples, of which generated artifacts are made."""
    folders = [str(FOLDER / name) for name in ("cubin", "fatbin", "fatbin-ltoir", "ltoir", "ptx")]
    seen = set()
    for summary in summaries(folders, ScanOptions(ScanSettings())):
        for group in summary.groups:
            if group.signature not in seen:
                seen.add(group.signature)
                yield group


GROUPS = list(groups_of_samples())


def artifact(groups: list[ModuleGroup]) -> ArtifactSummary:
    summary = ArtifactSummary("made-up")
    summary.groups += groups
    return summary


ARTIFACTS = st.lists(st.sampled_from(GROUPS), min_size=1, max_size=3).map(artifact)


def checked(
    summary: ArtifactSummary,
    service: Service,
    driver: DriverVersion | None,
    linker: Release | None,
) -> list[Result]:
    """What `check` says on the GPU of a row."""
    target = Target(
        name="row",
        driver=known(driver),
        nvjitlink=known(linker),
        gpus=(find_gpu(f"sm_{service.number}"),),
    )
    return list(results(summary, target))


def known(version: Version | None) -> VersionSet[Version] | None:
    return (
        None if version is None else VersionSet(str(version), (version,), Quantifier.ALL, "made up")
    )


def verdict_of(found: list[Result]) -> Verdict:
    return worst(result.verdict for result in found)


def linker_of(row: Service, answer: Required) -> Release | None:
    if answer.nvjitlink is None or not row.link:
        return row.nvjitlink
    floor = answer.nvjitlink.sure or answer.nvjitlink.possible
    return None if row.nvjitlink is None else max(floor, row.nvjitlink)


def no_version_decides(summary: ArtifactSummary, row: Service, linker: Release | None) -> bool:
    """Whether it is unknown with the newest driver as well: a trial decides, not a version."""
    return verdict_of(checked(summary, row, NEWEST, linker)) is Verdict.UNKNOWN


@settings(deadline=None, max_examples=150)
@given(ARTIFACTS)
def test_what_require_prints_for_a_gpu_passes_check_there(summary: ArtifactSummary) -> None:
    answer = required(summary)
    for row in answer.services:
        if row.driver is None:
            continue
        linker = linker_of(row, answer)
        if row.link and linker is None:
            continue  # the row says that no nvJitLink is known
        verdict = verdict_of(checked(summary, row, row.driver, linker))
        if verdict is Verdict.UNKNOWN:
            assert no_version_decides(summary, row, linker), (row, linker)
        else:
            assert verdict <= WORKS, (row, linker)


@settings(deadline=None, max_examples=150)
@given(ARTIFACTS)
def test_the_driver_below_the_one_of_a_row_does_not_just_work(summary: ArtifactSummary) -> None:
    answer = required(summary)
    for row in answer.services:
        linker = linker_of(row, answer)
        if row.driver is None or (row.link and linker is None):
            continue
        older = [branch for branch in drivers.driver_branches() if branch < row.driver.branch]
        if older:
            below = drivers.first_production(older[-1])
            verdict = verdict_of(checked(summary, row, below, linker))
            assert verdict >= Verdict.UNDOCUMENTED, (row, below)


@settings(deadline=None, max_examples=150)
@given(ARTIFACTS)
def test_the_nvjitlink_to_paste_links_for_a_gpu_and_the_one_below_not_for_all(
    summary: ArtifactSummary,
) -> None:
    answer = required(summary)
    floor = answer.nvjitlink
    lines = [line for line in answer.lines if line.where == "pip"]
    assert bool(lines) == (floor is not None)
    if floor is None:
        return
    linked = [row for row in answer.services if row.link and not row.beyond]
    least = floor.sure or floor.possible
    assert any(f">={least},<{floor.ceiling}" in line.text for line in lines)
    if not linked:
        return  # no driver that is known loads what lies beside
    verdicts = [verdict_of(checked(summary, row, NEWEST, least)) for row in linked]
    assert min(verdicts) <= Verdict.UNKNOWN
    older = [minor for minor in nvjitlink_minors() if minor < floor.possible]
    if older:
        # The row that sets the floor may be one that no driver loads.
        rows = [row for row in answer.services if row.link]
        below = [verdict_of(checked(summary, row, NEWEST, older[-1])) for row in rows]
        assert max(below) >= Verdict.UNDOCUMENTED
