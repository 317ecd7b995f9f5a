"""Targets of one class get equal verdicts by equal rules, as if each were judged by itself."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import pytest
from generated_artifacts import ARTIFACTS, IMAGES, WHERE, artifact
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ltocompat.facts import nvjitlink_minors
from ltocompat.facts.drivers import production_drivers
from ltocompat.facts.gpus import find_gpu, newest_sm, sms
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
from ltocompat.model.image import ImageKind
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.target import DriverVersion, Gpu, Quantifier, Target, VersionSet
from ltocompat.model.trial_answer import TOO_NEW, TrialOutcome, Trials, link_key
from ltocompat.model.verdict import Verdict
from ltocompat.rules.engine.engine import Engine
from ltocompat.rules.engine.judge_artifact import results
from ltocompat.rules.engine.target_classes import TargetClasses
from ltocompat.targets.linkers import Linker
from ltocompat.trial.cached_linker import outcome_of
from ltocompat.trial.values import Answer, LinkOutcome, Step

GPUS = tuple(find_gpu(f"sm_{number}") for number in (*(s.number for s in sms()), newest_sm() + 10))
DRIVERS = (None, *production_drivers())
LINKERS = nvjitlink_minors()
Parts = tuple[Gpu, DriverVersion | None, Release]
PARTS = st.tuples(st.sampled_from(GPUS), st.sampled_from(DRIVERS), st.sampled_from(LINKERS))
ANSWERS = st.dictionaries(
    st.builds(link_key, st.sampled_from(LINKERS), st.sampled_from([gpu.arch for gpu in GPUS])),
    st.sampled_from(
        [
            TrialOutcome("a linker", "linked"),
            TrialOutcome("a linker", "accepted"),
            TrialOutcome("a linker", "refused", TOO_NEW, "it is too new"),
        ]
    ),
    max_size=3,
)


def tried(summary: ArtifactSummary, answers: Trials) -> ArtifactSummary:
    """The artifact with what linkers answered to each module and to the whole link."""
    groups = [replace(group, trials=answers) for group in summary.groups]
    return replace(summary, groups=groups, link_trials=answers if summary.single_link else {})


FILES = st.builds(
    lambda summary, single_link, answers: tried(replace(summary, single_link=single_link), answers),
    ARTIFACTS,
    st.integers(0, 4).map(lambda number: number == 0),
    ANSWERS,
)
"""Artifacts, a few of them as the inputs of one link; linkers were asked about some."""


def cross(parts: Parts) -> Iterator[Parts]:
    """Every target that differs from one in one part."""
    gpu, driver, linker = parts
    yield from ((other, driver, linker) for other in GPUS)
    yield from ((gpu, other, linker) for other in DRIVERS)
    yield from ((gpu, driver, other) for other in LINKERS)


def judged(summary: ArtifactSummary, parts: Parts) -> set[object]:
    gpu, driver, linker = parts
    target = Target(
        name="a target",
        driver=None
        if driver is None
        else VersionSet(str(driver), (driver,), Quantifier.ALL, "given"),
        nvjitlink=VersionSet(str(linker), (linker,), Quantifier.ALL, "given"),
        gpus=(gpu,),
    )
    return {
        (
            result.route,
            result.verdict,
            result.coverage,
            result.not_judged,
            frozenset(
                (finding.rule, finding.verdict, finding.evidence, finding.about_loading)
                for finding in result.findings
                if finding.verdict is not Verdict.OK
            ),
        )
        for result in results(summary, target)
    }


def a_class_has_one_verdict(summary: ArtifactSummary, drawn: list[Parts]) -> None:
    classes = TargetClasses(summary, Engine())
    first_of_class: dict[Hashable, tuple[Parts, set[object]]] = {}
    for parts in (near for middle in drawn for near in cross(middle)):
        verdict = judged(summary, parts)
        first, expected = first_of_class.setdefault(classes.of(*parts), (parts, verdict))
        assert verdict == expected, (first, parts)


def file_of(*images: ImageSignature, single_link: bool = False) -> ArtifactSummary:
    """A fatbin of these images, or one fatbin each, which are linked together."""
    parts = [(image,) for image in images] if single_link else [images]
    groups = [ModuleGroup(ModuleSignature(part, None), {}, 1, WHERE) for part in parts]
    return replace(artifact(groups, []), single_link=single_link)


def first(kind: ImageKind, arch: str) -> ImageSignature:
    """An image of a sample as an entry of a fatbin."""
    found = next(image for image in IMAGES if image.kind is kind and str(image.arch) == arch)
    return replace(found, in_fatbin=True, prelinked=False)


LTOIR, PTX = first(ImageKind.LTOIR, "lto_80"), first(ImageKind.PTX, "compute_80")
SASS = first(ImageKind.SASS, "sm_80")


@pytest.mark.parametrize(
    "summary",
    [
        pytest.param(file_of(first(ImageKind.LTOIR, "lto_90a")), id="rules that exclude images"),
        pytest.param(
            file_of(replace(SASS, concatenated=True), replace(PTX, isa="7.4")),
            id="old drivers pick something else",
        ),
        pytest.param(
            tried(
                file_of(LTOIR),
                {link_key(LINKERS[-1], find_gpu("sm_80").arch): TrialOutcome("a linker", "linked")},
            ),
            id="a linker answered",
        ),
        pytest.param(file_of(LTOIR, PTX, single_link=True), id="a rule of whole links"),
    ],
)
def test_targets_that_one_rule_alone_tells_apart_are_two_classes(summary: ArtifactSummary) -> None:
    targets = [
        (find_gpu("sm_80"), driver, LINKERS[-1]) for driver in (None, production_drivers()[0])
    ]
    a_class_has_one_verdict(summary, targets)


@given(FILES, PARTS)
@settings(max_examples=20)
def test_targets_of_one_class_get_the_same_verdict(summary: ArtifactSummary, parts: Parts) -> None:
    a_class_has_one_verdict(summary, [parts])


@pytest.mark.slow
@given(FILES, st.lists(PARTS, min_size=2, max_size=2))
@settings(max_examples=25)
def test_targets_of_one_class_get_the_same_verdict_far_apart(
    summary: ArtifactSummary, drawn: list[Parts]
) -> None:
    a_class_has_one_verdict(summary, drawn)


@pytest.mark.parametrize("images", [(LTOIR, PTX), (LTOIR, LTOIR), (LTOIR,)])
@pytest.mark.parametrize("doubled", [True, False])
def test_a_link_whose_log_names_a_second_definition_is_no_more_than_undocumented(
    images: tuple[ImageSignature, ...], *, doubled: bool
) -> None:
    """No byte of LTO-IR shows names, so that only the log of the linker does."""
    log = "error   : Multiple definition of 'k' in 'ltoPtx', first defined in 'k.ptx'" * doubled
    answer = Answer(outcome=LinkOutcome.LINKED, step=Step.COMPLETE, log=log, release=LINKERS[-1])
    linker = Linker(LINKERS[-1], "13.5.37", "libnvJitLink.so.13", "", "", machine="x86-64")
    gpu = find_gpu("sm_80")
    trials = {link_key(LINKERS[-1], gpu.arch): outcome_of(linker, answer, whole=True)}
    summary = tried(file_of(*images, single_link=True), trials)
    nvjitlink = VersionSet("13.5", (LINKERS[-1],), Quantifier.ALL, "given")
    found = results(summary, Target(name="a target", nvjitlink=nvjitlink, gpus=(gpu,)))
    rules = [finding.rule for result in found for finding in result.findings]
    assert ("BLD-09" in rules) is doubled
    assert not doubled or all(result.verdict >= Verdict.UNDOCUMENTED for result in found)


@pytest.mark.parametrize("outcome", ["linked", "accepted", "refused", "lost", "crashed"])
def test_the_answer_of_a_linker_to_all_inputs_stands_in_place_of_what_bytes_hide(
    outcome: str,
) -> None:
    gpu = find_gpu("sm_80")
    answer = TrialOutcome("nvJitLink 13.5.37", outcome, None, "that is why")
    trials = {link_key(LINKERS[-1], gpu.arch): answer}
    nvjitlink = VersionSet("13.5", (LINKERS[-1],), Quantifier.ALL, "given")
    target = Target(name="a target", nvjitlink=nvjitlink, gpus=(gpu,))
    summary = tried(file_of(LTOIR, single_link=True), trials)
    found = [finding for each in results(summary, target) for finding in each.findings]
    hidden = [finding for finding in found if finding.rule == "BLD-10"]
    assert bool(hidden) is (outcome in ("accepted", "crashed"))
    if outcome == "accepted":
        (open_,) = hidden
        assert open_.verdict is Verdict.UNKNOWN
        assert "13.5.37 accepts the inputs, but that is why" in open_.message
        assert not open_.decided_by_trial  # a second trial would say the same
    if outcome in ("refused", "lost"):
        assert max(finding.verdict for finding in found) is Verdict.FAIL
