"""One device link is judged as it ends, whatever the LTO-IR in it hides.

Objects are made up with all that they define and call; of LTO-IR the rules see none of it. How
nvlink takes such objects was measured: it leaves those out that have nothing for its target, and
refuses a name that is missing or defined twice.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st
from rules import image

from ltocompat.facts.gpus import find_gpu
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup, together_as_one
from ltocompat.model.image import ImageKind
from ltocompat.model.location import Location
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.symbols import DeviceSymbols
from ltocompat.model.target import Quantifier, Target, VersionSet
from ltocompat.model.trial_answer import TrialOutcome, link_key
from ltocompat.model.verdict import Result, Verdict
from ltocompat.rules.engine.judge_artifact import results

GPU = find_gpu("sm_80")
RELEASE = Release(13, 5)
NAMES = st.frozensets(st.sampled_from("fgh"), max_size=2)


class Object(NamedTuple):
    """An object: one image, for an architecture, and what its source says."""

    kind: ImageKind
    arch: str
    kernel: str
    functions: frozenset[str]
    calls: frozenset[str]

    @property
    def taken(self) -> bool:
        return self.arch == "80"

    @property
    def has_kernel(self) -> bool:
        return bool(self.kernel)

    def image(self) -> ImageSignature:
        shown = None
        if self.kind is not ImageKind.LTOIR:
            kernels = (self.kernel,) if self.kernel else ()
            calls = tuple(sorted(self.calls - self.functions)) if self.has_kernel else ()
            defined = tuple(sorted((*self.functions, *kernels)))
            shown = DeviceSymbols(calls, calls, defined=defined, kernels=kernels)
        more = {"relocatable": True, "prelinked": True, "symbols": shown}
        return image(self.kind, self.arch, "13.0", **more)


objects = st.builds(
    Object,
    st.sampled_from([ImageKind.SASS, ImageKind.LTOIR]),
    st.sampled_from(["80", "80", "90"]),
    st.sampled_from(["", "", "k", "l", "m", "n"]),
    NAMES,
    NAMES,
)
LINKS = st.lists(objects, min_size=1, max_size=4)


def links(given_objects: list[Object]) -> bool:
    """Whether nvlink makes something of them that has kernels, where any of them has."""
    taken = [each for each in given_objects if each.taken]
    defined = Counter(name for each in taken for name in (*each.functions, each.kernel) if name)
    called = {name for each in taken if each.has_kernel for name in each.calls}
    kernels = any(each.has_kernel for each in taken)
    lost = any(each.has_kernel for each in given_objects) and not kernels
    return (
        bool(taken) and not lost and called <= {*defined} and max(defined.values(), default=0) < 2
    )


KNOWN = VersionSet("13.5", (RELEASE,), Quantifier.ALL, "given")
BESIDE = ModuleSignature(
    (image(ImageKind.LTOIR, "80", "13.0", in_fatbin=False, has_kernels=True),), registered=None
)
"""LTO-IR in a file of its own, which serves the target whatever the objects hold."""


def part(signature: ModuleSignature, name: str) -> ArtifactSummary:
    return ArtifactSummary(name, [ModuleGroup(signature, {}, 1, Location(name))])


def parts_of(given_objects: list[Object]) -> list[ArtifactSummary]:
    return [
        part(ModuleSignature((each.image(),), registered=False, needs_device_link=True), name)
        for number, each in enumerate(given_objects)
        for name in (f"{number}.o",)
    ]


def judged(given_objects: list[Object], trial: TrialOutcome | None = None) -> Result:
    trials = {} if trial is None else {link_key(RELEASE, GPU.arch, offline=True): trial}
    link = together_as_one(parts_of(given_objects), trials)
    (result,) = results(link, Target(name="a target", nvlink=KNOWN, gpus=(GPU,)))
    return result


def lacks(given_objects: list[Object]) -> bool:
    """Whether something readable is missing that LTO-IR may have, or the other way round."""
    taken = [each for each in given_objects if each.taken]
    readable = [each for each in taken if each.kind is not ImageKind.LTOIR]
    left_out = [each for each in given_objects if not each.taken]
    called = {name for each in readable if each.has_kernel for name in each.calls}
    missing = called - {name for each in readable for name in each.functions}
    may_be_called = [each for each in left_out if each.functions or each.kind is ImageKind.LTOIR]
    return bool(missing) or (len(readable) < len(taken) and bool(may_be_called))


def shows_all(given_objects: list[Object]) -> bool:
    return all(each.kind is not ImageKind.LTOIR for each in given_objects)


def loses_a_kernel(given_objects: list[Object]) -> bool:
    """Whether one is in none of the objects that nvlink takes."""
    there = {each.kernel for each in given_objects if each.taken}
    return not {each.kernel for each in given_objects if each.kernel} <= there


# What is left out may be in LTO-IR, too.
@example(
    [
        Object(ImageKind.LTOIR, "80", "k", frozenset(), frozenset()),
        Object(ImageKind.SASS, "90", "k", frozenset(), frozenset()),
        Object(ImageKind.SASS, "80", "l", frozenset(), frozenset()),
    ]
)
@example(
    [
        Object(ImageKind.SASS, "80", "k", frozenset(), frozenset()),
        Object(ImageKind.LTOIR, "90", "l", frozenset(), frozenset()),
    ]
)
@settings(max_examples=300, deadline=None)
@given(LINKS)
def test_a_device_link_is_judged_as_it_ends_or_what_is_hidden_is_told(
    given_objects: list[Object],
) -> None:
    result = judged(given_objects)
    # A kernel that is not in the output is error 500 where it is launched.
    ends_well = links(given_objects) and not loses_a_kernel(given_objects)
    if result.verdict is Verdict.FAIL:
        assert not ends_well
    elif result.verdict is Verdict.OK:
        assert ends_well or "symbols" in result.not_judged
        assert not lacks(given_objects)
    if shows_all(given_objects):
        assert result.verdict is (Verdict.OK if ends_well else Verdict.FAIL)
        assert "symbols" not in result.not_judged


# The trial is not of an object that no linker takes from the link, with kernels or without.
@example(
    [
        Object(ImageKind.SASS, "80", "k", frozenset(), frozenset()),
        Object(ImageKind.SASS, "90", "", frozenset(), frozenset()),
    ]
)
@settings(max_examples=100, deadline=None)
@given(LINKS.filter(lambda each: any(item.taken for item in each)))
def test_a_trial_of_all_inputs_leaves_nothing_open(given_objects: list[Object]) -> None:
    """Where nothing is for the target there is nothing to ask."""
    if links(given_objects):
        found = judged(given_objects, TrialOutcome("nvlink 13.5.37", "linked"))
        if any(each.has_kernel for each in given_objects) and not loses_a_kernel(given_objects):
            # No linker says what LTO-IR holds that it leaves out.
            hidden = any(each.kind is ImageKind.LTOIR and not each.taken for each in given_objects)
            assert found.verdict is (Verdict.UNDOCUMENTED if hidden else Verdict.OK)
    else:
        refusal = TrialOutcome("nvlink 13.5.37", "refused", "unresolved", "no input defines f")
        found = judged(given_objects, refusal)
        assert found.verdict is Verdict.FAIL
    assert "symbols" not in found.not_judged


@settings(max_examples=100, deadline=None)
@given(LINKS)
def test_the_order_of_objects_changes_nothing(given_objects: list[Object]) -> None:
    assert judged(given_objects).verdict is judged(given_objects[::-1]).verdict


@settings(max_examples=200, deadline=None)
@given(LINKS, st.booleans(), st.booleans())
def test_one_object_without_code_for_the_target_is_what_nvjitlink_refuses(
    given_objects: list[Object], beside: bool, tried: bool
) -> None:
    """Whatever else is linked; measured with nvJitLink 12.0 to 13.5 (bad input)."""
    parts = [*parts_of(given_objects), *([part(BESIDE, "beside.ltoir")] if beside else [])]
    refusal = TrialOutcome("nvJitLink 13.5.37", "refused", "bad input", "bad input: 0.o")
    link = together_as_one(parts, {link_key(RELEASE, GPU.arch): refusal} if tried else {})
    (result,) = results(link, Target(name="a target", nvjitlink=KNOWN, gpus=(GPU,)))
    if not all(each.taken for each in given_objects):
        assert result.verdict is Verdict.FAIL
        found = {finding.rule for finding in result.findings if finding.verdict is Verdict.FAIL}
        assert "BLD-03" in found
        assert "TRIAL-DISAGREES" not in found
    elif not tried:
        assert "BLD-03" not in {finding.rule for finding in result.findings}


def test_a_link_that_gets_an_object_is_one_of_nvlink_where_the_target_names_it() -> None:
    """Though the object holds nothing for the target, and nvJitLink would link what is left."""
    lost = Object(ImageKind.LTOIR, "90", "k", frozenset(), frozenset())
    link = together_as_one([*parts_of([lost]), part(BESIDE, "beside.ltoir")])
    target = Target(name="a target", nvlink=KNOWN, nvjitlink=KNOWN, gpus=(GPU,))
    (result,) = results(link, target)
    assert result.verdict is Verdict.UNKNOWN
    assert "nvlink leaves them out" in " ".join(finding.message for finding in result.findings)
