"""Inverse: what `require` prints passes `check`, for every line and GPU; one step below does not.

The versions to try are all that are known, so that a floor between two of them is seen as well.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import pytest
from generated_artifacts import ARTIFACTS, GROUPS, IMAGES, WHERE, artifact
from generated_variants import PACKAGES, Package, whole
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from packaging.requirements import Requirement

from ltocompat.facts import drivers, nvjitlink_minors
from ltocompat.facts.gpus import find_gpu
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup, own_linker
from ltocompat.model.image import CudaLibrary, HostBinary, ImageKind
from ltocompat.model.requirement import GpuSupport, PasteLine, Required, RouteFloor
from ltocompat.model.signature import ModuleSignature
from ltocompat.model.symbols import DeviceSymbols
from ltocompat.model.target import DriverVersion, Quantifier, Target, VersionSet, exactly
from ltocompat.model.verdict import Result, Route, Verdict
from ltocompat.rules.engine.collect_requirements import required
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.targets import parse

LINKERS = sorted(nvjitlink_minors())
DRIVERS = sorted(
    version
    for branch in drivers.driver_branches()
    for version in {drivers.first_production(branch), *drivers.driver_releases(branch)}
)
WORKS = Verdict.JIT
"""The worst verdict of what NVIDIA promises to work."""

STEP = 7
STARTS = st.integers(0, STEP - 1)
"""Of the rows of an answer every seventh is tried, from a drawn one on."""

Law = Callable[[ArtifactSummary, int], None]

many = settings(max_examples=40)


Version = TypeVar("Version", Release, DriverVersion)


class Checked:
    """What `check` says of an artifact on a GPU, by route."""

    def __init__(self, summary: ArtifactSummary) -> None:
        self.summary = summary
        self.on = functools.cache(self._on)

    def _on(
        self,
        number: int,
        route: Route | None,
        driver: DriverVersion | None,
        linker: Release | None,
    ) -> Result:
        target = Target(
            name="a target",
            driver=None
            if driver is None
            else VersionSet(str(driver), (driver,), Quantifier.ALL, "given"),
            nvjitlink=None
            if linker is None
            else VersionSet(str(linker), (linker,), Quantifier.ALL, "given"),
            gpus=(find_gpu(f"sm_{number}"),),
        )
        found = {result.route: result for result in results(self.summary, target)}
        return found.get(route) or found[None]


def before(version: Version, known: list[Version]) -> Version | None:
    return max((other for other in known if other < version), default=None)


OF_VERSIONS = frozenset(
    "DRV-01 SASS-07 FB-01 FB-02 FB-03 PTX-01 PTX-02 LTO-01 LTO-02 LTO-10b BLD-02 "  # noqa: SIM905
    "NJL-01 NJL-03 NJL-04 NJL-05".split()
)
"""Rules that ask for a version whatever the GPU; those of a GPU stand in its row alone."""


def rows(answer: Required, start: int = 0, step: int = 1) -> list[tuple[GpuSupport, RouteFloor]]:
    return [(service, floor) for service in answer.services for floor in service.routes][
        start::step
    ]


def passes_where_printed(summary: ArtifactSummary, start: int) -> None:
    checked, answer = Checked(summary), required(summary)
    for service, floor in rows(answer, start, STEP):
        if floor.driver is None:
            continue
        linker = floor.nvjitlink or LINKERS[-1]
        found = checked.on(service.number, floor.route, floor.driver, linker)
        where = (service.number, floor)
        assert found.verdict is floor.verdict, where
        assert found.verdict < Verdict.FAIL, where
        doubts = {f.rule for f in found.findings if f.verdict > WORKS}
        assert doubts == set(floor.doubts), where
        if found.verdict > WORKS:  # no newer version does better
            newer = [
                checked.on(service.number, floor.route, d, linker)
                for d in DRIVERS
                if d >= floor.driver
            ]
            if floor.nvjitlink is not None:
                newer += [
                    checked.on(service.number, floor.route, floor.driver, release)
                    for release in LINKERS
                    if release >= floor.nvjitlink
                ]
            assert min(result.verdict for result in newer) >= found.verdict, where


def fails_one_step_below(summary: ArtifactSummary, start: int) -> None:
    checked, answer = Checked(summary), required(summary)
    for service, floor in rows(answer, start, STEP):
        if floor.driver is None:
            continue
        linker = floor.nvjitlink or LINKERS[-1]
        below = []
        older = before(floor.driver, DRIVERS)
        if older is not None:
            below.append(checked.on(service.number, floor.route, older, linker))
        # What an artifact brings itself links, whatever the target has.
        asked = None if own_linker(summary) else floor.nvjitlink
        lower = None if asked is None else before(asked, LINKERS)
        if lower is not None:
            below.append(checked.on(service.number, floor.route, floor.driver, lower))
            below.append(checked.on(service.number, floor.route, floor.last_driver, lower))
        for result in below:
            where = (service.number, floor, result)
            assert result.verdict > WORKS, where
            objections = {f.rule: f.verdict for f in result.findings if f.verdict > WORKS}
            assert objections, where
            # Where no version is better than unknown, a further unknown sets no floor.
            worse = {rule for rule, found in objections.items() if found > floor.verdict}
            assert worse <= {*floor.set_by, *floor.doubts}, where


def no_floor_is_left_out(summary: ArtifactSummary, start: int) -> None:
    checked, answer = Checked(summary), required(summary)
    for service, floor in rows(answer, start, STEP):
        if floor.driver is not None:
            continue
        found = [
            checked.on(service.number, floor.route, driver, linker)
            for driver in (DRIVERS[0], *DRIVERS[::6], DRIVERS[-1])
            for linker in LINKERS
        ]
        served = [r for r in found if r.verdict < Verdict.FAIL and r.coverage.served]
        assert not served, (service.number, floor, served[0])
        idle = [r for r in found if r.coverage.idle]
        late = [r for r in idle if r.verdict > WORKS and min(i.verdict for i in idle) <= WORKS]
        drivers_at_fault = [f for r in late for f in r.findings if f.rule == "DRV-01"]
        assert not drivers_at_fault, (service.number, floor, drivers_at_fault[0])


def what_sets_a_floor_is_told(summary: ArtifactSummary, _: int) -> None:
    answer = required(summary)
    told = [(a.component, a.constraint, a.rule, a.subject, a.consequence) for a in answer.asked]
    assert len(told) == len(set(told))
    if answer.nvjitlink is not None:
        least = answer.nvjitlink.sure or answer.nvjitlink.possible
        assert answer.nvjitlink.rules or least == LINKERS[0]
        sound = [
            service
            for service in answer.services
            if (floors := [floor for floor in service.routes if floor.driver])
            and all(floor.verdict is Verdict.OK for floor in floors)
        ]
        assert all(each.nvjitlink is None or each.nvjitlink >= least for each in sound)
    rules = {rule for _, floor in rows(answer) if floor.driver for rule in floor.set_by}
    missing = rules & OF_VERSIONS - {asked.rule for asked in answer.asked}
    assert not missing, missing


def releases_of(line: PasteLine) -> list[Release]:
    """The known nvJitLinks that pip may install for a line."""
    wanted = Requirement(line.text)
    major_12 = wanted.name.endswith("-cu12")
    assert wanted.name == ("nvidia-nvjitlink-cu12" if major_12 else "nvidia-nvjitlink")
    # Across majors nothing is promised, least of all of one that nobody has seen.
    assert not wanted.specifier.contains(f"{LINKERS[-1].major + 1}.0"), line
    return [
        release
        for release in LINKERS
        if (release.major == 12) is major_12 and wanted.specifier.contains(f"{release}.99")
    ]


def pasted_linkers_link(summary: ArtifactSummary, start: int) -> None:
    checked, answer = Checked(summary), required(summary)
    lines = [line for line in answer.lines if line.where == "pip" and line.text]
    assert answer.nvjitlink is not None or not lines
    if answer.nvjitlink is not None and not lines:  # nvlink links objects when a program is built
        assert any(group.signature.needs_device_link for group in summary.groups)
    for line in lines:
        admitted = releases_of(line)
        assert admitted, line
        linked = [
            (service, floor)
            for service, floor in rows(answer, start, STEP)
            if floor.driver and floor.nvjitlink and floor.nvjitlink <= admitted[0]
        ]
        ended = [row for row in linked if (row[1].last_nvjitlink or admitted[-1]) < admitted[-1]]
        assert all(f"sm_{service.number}" in line.note for service, _ in ended), line
        linked = [row for row in linked if row not in ended]
        for service, floor in linked:
            # Without kernels nothing is linked: all that is judged is what libraries ask for.
            driver = floor.driver if floor.coverage.idle else None
            for release in admitted:
                result = checked.on(service.number, floor.route, driver, release)
                assert result.verdict <= max(floor.verdict, WORKS), (line, service.number, result)


def pasted_drivers_load(summary: ArtifactSummary, start: int) -> None:
    checked, answer = Checked(summary), required(summary)
    for line in answer.lines:
        if line.where != "container":
            continue
        cuda = Release.parse(line.text.rpartition(">=")[2])
        able = [
            (service, floor)
            for service, floor in rows(answer)
            if floor.driver and cuda_of(floor.driver) <= cuda
        ]
        assert able, line
        for service, floor in able[start::STEP]:
            last, linker = floor.last_driver or DRIVERS[-1], floor.nvjitlink or LINKERS[-1]
            admitted = [d for d in DRIVERS if cuda_of(d) >= cuda and d.branch <= last.branch]
            for driver in admitted:
                result = checked.on(service.number, floor.route, driver, linker)
                assert result.verdict <= max(floor.verdict, WORKS), (line, driver, result)


def cuda_of(driver: DriverVersion) -> Release:
    cuda = drivers.branch_cuda(driver.branch)
    assert cuda is not None
    return cuda


def runtimes_without_kernels(libraries: list[CudaLibrary]) -> ArtifactSummary:
    """A library without kernels, as libnppc.so.12: its CUDA runtime alone asks for a driver."""
    idle = replace(GROUPS[0].signature.images[0], has_kernels=False, kind=ImageKind.SASS)
    signature = ModuleSignature((idle,), registered=True)
    host = HostBinary(
        place=WHERE,
        format="ELF",
        machine="x86-64",
        type="shared library",
        libraries=tuple(libraries),
    )
    return ArtifactSummary("x", [ModuleGroup(signature, {}, 1, WHERE)], hosts=[host])


RUNTIMES = st.lists(
    st.builds(
        CudaLibrary,
        st.just("libcudart"),
        st.just("static"),
        st.none(),
        st.sampled_from([None, "12", "13"]),
        st.just("mark"),
    )
    | st.builds(
        CudaLibrary,
        st.just("libcudart"),
        st.sampled_from(["needed", "opened"]),
        st.sampled_from(["libcudart.so.10.2", "libcudart.so.12", "libcudart.so.13"]),
        st.none(),
        st.just("DT_NEEDED"),
    ),
    max_size=3,
    unique_by=lambda library: library.how,
)
"""CUDA runtimes inside a library or loaded with it."""


LAWS = [
    passes_where_printed,
    fails_one_step_below,
    no_floor_is_left_out,
    what_sets_a_floor_is_told,
    pasted_linkers_link,
    pasted_drivers_load,
]


@given(ARTIFACTS, STARTS)
@many
def test_what_require_prints_for_a_gpu_passes_check_there(
    summary: ArtifactSummary, start: int
) -> None:
    passes_where_printed(summary, start)


@given(RUNTIMES, STARTS)
@many
def test_a_library_without_kernels_has_the_driver_of_its_runtime(
    libraries: list[CudaLibrary], start: int
) -> None:
    summary = runtimes_without_kernels(libraries)
    for law in LAWS:
        law(summary, start)
    known = {copy.version or "10" for copy in libraries if copy.how == "static"}
    known |= {copy.file[13:15] for copy in libraries if copy.how == "needed" and copy.file}
    least = {"10": "450.51.05", "12": "525.60.13", "13": "580.65.06"}.get(max(known, default=""))
    answer = required(summary)
    floors = {each.driver for each in answer.services if each.driver}
    assert str(min(floors, default=None)) == str(least)
    assert any(line.where == "container" for line in answer.lines) is bool(least)


SUPPORT = {"sm_52": (450, 580), "sm_70": (450, 580), "sm_75": (450, 615), "sm_100": (570, 615)}
"""The first and the last known driver branch that supports a GPU."""


@given(RUNTIMES, st.sampled_from(sorted(SUPPORT)), st.sampled_from(DRIVERS))
@many
def test_a_runtime_without_kernels_fails_on_a_gpu_that_the_driver_does_not_support(
    libraries: list[CudaLibrary], name: str, driver: DriverVersion
) -> None:
    """eigh-cuda120 0.4.1 and cumm-cu128 0.8.2 were ok on a V100 with driver 590."""
    summary, (first, last) = runtimes_without_kernels(libraries), SUPPORT[name]
    target = Target(name="t", driver=exactly(driver, "given"), gpus=(find_gpu(name),))
    (result,) = results(summary, target)
    asked = {each.rule for each in result.findings} & {"DRV-03", "DRV-04"}
    runs = any(library.how != "opened" for library in libraries)
    assert asked == ({"DRV-03"} if driver.branch < first and runs else set()) | (
        {"DRV-04"} if driver.branch > last and runs else set()
    )
    assert result.verdict is Verdict.FAIL or not asked


@given(ARTIFACTS, STARTS)
@many
def test_one_step_below_check_objects_by_a_rule_that_require_names(
    summary: ArtifactSummary, start: int
) -> None:
    fails_one_step_below(summary, start)


@given(ARTIFACTS, STARTS)
@many
def test_where_no_floor_is_printed_no_version_passes(summary: ArtifactSummary, start: int) -> None:
    no_floor_is_left_out(summary, start)


@given(ARTIFACTS, STARTS)
@many
def test_every_rule_that_sets_a_floor_is_told_once(summary: ArtifactSummary, start: int) -> None:
    what_sets_a_floor_is_told(summary, start)


@given(ARTIFACTS, STARTS)
@many
def test_every_nvjitlink_that_a_pasted_line_admits_links(
    summary: ArtifactSummary, start: int
) -> None:
    pasted_linkers_link(summary, start)


@given(ARTIFACTS, STARTS)
@many
def test_every_driver_that_a_pasted_line_admits_loads(summary: ArtifactSummary, start: int) -> None:
    pasted_drivers_load(summary, start)


OF_EXACT_ARCHITECTURES = [
    group
    for group in GROUPS
    for image in group.signature.images
    if image.kind is ImageKind.LTOIR and image.in_fatbin and image.arch and image.arch.suffix == "a"
]
"""LTO-IR that nvJitLinks before 13.0 take for a GPU without the suffix, and later ones don't."""


@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("law", LAWS)
def test_the_inverse_holds_for_what_only_older_linkers_take(law: Law, count: int) -> None:
    waiting = next(group for group in GROUPS if group.signature.needs_device_link)
    for group in OF_EXACT_ARCHITECTURES[:count]:
        law(artifact([group], []), 0)
        law(artifact([group, waiting], [], unread=True), 0)


OF_THE_FIRST_LINKERS = [
    group
    for group in GROUPS
    for image in group.signature.images
    if image.kind is ImageKind.LTOIR
    and not image.in_fatbin
    and image.made_by[0].releases[:1] == (Release(12, 0),)
][:1]
"""Bare LTO-IR that nvJitLink 12.0 and 12.1 alone link for older GPUs."""


@pytest.mark.parametrize("law", LAWS)
def test_the_inverse_holds_for_what_the_first_linkers_alone_link(law: Law) -> None:
    waiting = next(group for group in GROUPS if group.signature.needs_device_link)
    law(artifact(OF_THE_FIRST_LINKERS, []), 0)
    law(artifact([waiting, *OF_THE_FIRST_LINKERS], []), 0)


@pytest.mark.parametrize("law", LAWS)
def test_the_inverse_holds_for_what_old_linkers_alone_serve_beside_unread_bytes(law: Law) -> None:
    with_suffix = next(
        image
        for image in IMAGES
        if str(image.arch) == "lto_90a" and image.made_by[0].releases[-1] < Release(13, 0)
    )
    entry = ModuleSignature((replace(with_suffix, in_fatbin=True),), None, False)
    summary = artifact([ModuleGroup(entry, {}, 1, WHERE)], [], unread=True)
    hopper = [service.number for service, _ in rows(required(summary), 0, 1)].index(90)
    law(summary, hopper % STEP)


CALLING_NOBODY = next(
    replace(image, symbols=DeviceSymbols(("helper",), needed_by_kernels=("helper",)))
    for group in GROUPS
    for image in group.signature.images
    if image.kind is ImageKind.SASS and image.relocatable and not image.in_fatbin
)
"""A relocatable cubin whose kernels no driver can load: what they call is defined nowhere."""


def test_no_driver_is_printed_for_what_fails_whatever_its_version() -> None:
    signature = ModuleSignature((CALLING_NOBODY,), None)
    summary = artifact([ModuleGroup(signature, {}, 1, WHERE)], [])
    for start in range(STEP):
        passes_where_printed(summary, start)


def test_what_modules_show_in_different_ways_is_told_once() -> None:
    ptx = [group for group in GROUPS if [i.isa for i in group.signature.images] == ["9.5"]]
    in_files, in_fatbins = (
        [group for group in ptx if group.signature.images[0].in_fatbin is in_fatbin]
        for in_fatbin in (False, True)
    )
    summary = artifact([in_files[0], in_fatbins[0]], [])
    what_sets_a_floor_is_told(summary, 0)
    (floor,) = {asked.evidence for asked in required(summary).asked if asked.rule == "PTX-01"}
    assert floor == ".version 9.5; version in the fatbin entry"


@pytest.mark.slow
@settings(max_examples=4)
@given(PACKAGES, STARTS)
def test_what_require_prints_for_variants_passes_check(made: Package, start: int) -> None:
    summary = whole(*made)
    for law in (
        passes_where_printed,
        fails_one_step_below,
        no_floor_is_left_out,
        pasted_linkers_link,
        pasted_drivers_load,
    ):
        law(summary, start)


@given(
    summary=ARTIFACTS,
    gpu=st.sampled_from(["sm_52", "sm_70", "sm_80", "sm_90", "sm_100", "sm_120"]),
    lacking=st.sampled_from(["nvjitlink", "driver"]),
)
@many
def test_the_target_that_a_finding_suggests_passes_if_any_does(
    summary: ArtifactSummary, gpu: str, lacking: str
) -> None:
    given_ = f"gpu={gpu}," + ("driver=580.65.06" if lacking == "nvjitlink" else "nvjitlink=13.5")
    known = LINKERS if lacking == "nvjitlink" else drivers.production_drivers()

    def verdict(text: str) -> Verdict:
        (target,) = parse([text])
        return max(result.verdict for result in results(summary, target))

    (target,) = parse([given_])
    for result in results(summary, target):
        for finding in (each for each in result.findings if each.rule == "TGT-01"):
            _, _, suggested = finding.remedy.partition(", for example ")
            passes = any(verdict(f"{given_},{lacking}={each}") <= WORKS for each in known)
            assert verdict(suggested) < Verdict.FAIL or not passes, suggested
