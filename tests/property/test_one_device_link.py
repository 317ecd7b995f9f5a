"""One device link is judged as it ends, whatever the LTO-IR in it hides.

Objects are made up with all that they define and call; of LTO-IR the rules see none of it. How
nvlink takes such objects was measured: it leaves those out that have nothing for its target, and
refuses a name that is missing or defined twice.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from rules import image

from ltocompat.facts.gpus import find_gpu
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup, together_as_one
from ltocompat.model.image import ImageKind
from ltocompat.model.place import Place
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
    has_kernel: bool
    functions: frozenset[str]
    calls: frozenset[str]

    @property
    def taken(self) -> bool:
        return self.arch == "80"

    def image(self, number: int) -> ImageSignature:
        shown = None
        if self.kind is not ImageKind.LTOIR:
            kernels = (f"kernel{number}",) if self.has_kernel else ()
            calls = tuple(sorted(self.calls - self.functions)) if self.has_kernel else ()
            defined = tuple(sorted((*self.functions, *kernels)))
            shown = DeviceSymbols(calls, calls, defined=defined, kernels=kernels)
        more = {"relocatable": True, "prelinked": True, "symbols": shown}
        return image(self.kind, self.arch, "13.0", **more)


objects = st.builds(
    Object,
    st.sampled_from([ImageKind.SASS, ImageKind.LTOIR]),
    st.sampled_from(["80", "80", "90"]),
    st.booleans(),
    NAMES,
    NAMES,
)
LINKS = st.lists(objects, min_size=1, max_size=4)


def links(given_objects: list[Object]) -> bool:
    """Whether nvlink makes something of them that has kernels, where any of them has."""
    taken = [each for each in given_objects if each.taken]
    defined = Counter(name for each in taken for name in each.functions)
    called = {name for each in taken if each.has_kernel for name in each.calls}
    kernels = any(each.has_kernel for each in taken)
    lost = any(each.has_kernel for each in given_objects) and not kernels
    return (
        bool(taken) and not lost and called <= {*defined} and max(defined.values(), default=0) < 2
    )


def judged(given_objects: list[Object], trial: TrialOutcome | None = None) -> Result:
    parts = []
    for number, each in enumerate(given_objects):
        signature = ModuleSignature((each.image(number),), registered=False, needs_device_link=True)
        place = Place(f"{number}.o")
        parts.append(ArtifactSummary(str(place), [ModuleGroup(signature, {}, 1, place)]))
    trials = {} if trial is None else {link_key(RELEASE, GPU.arch, offline=True): trial}
    known = VersionSet("13.5", (RELEASE,), Quantifier.ALL, "given")
    (result,) = results(
        together_as_one(parts, trials), Target(name="a target", nvlink=known, gpus=(GPU,))
    )
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


@settings(max_examples=300, deadline=None)
@given(LINKS)
def test_a_device_link_is_judged_as_it_ends_or_what_is_hidden_is_told(
    given_objects: list[Object],
) -> None:
    result, ends_well = judged(given_objects), links(given_objects)
    if result.verdict is Verdict.FAIL:
        assert not ends_well
    elif result.verdict is Verdict.OK:
        assert ends_well or "symbols" in result.not_judged
        assert not lacks(given_objects)
    if shows_all(given_objects):
        assert result.verdict is (Verdict.OK if ends_well else Verdict.FAIL)
        assert "symbols" not in result.not_judged


@settings(max_examples=100, deadline=None)
@given(LINKS.filter(lambda each: any(item.taken for item in each)))
def test_a_trial_of_all_inputs_leaves_nothing_open(given_objects: list[Object]) -> None:
    """Where nothing is for the target there is nothing to ask."""
    if links(given_objects):
        found = judged(given_objects, TrialOutcome("nvlink 13.5.37", "linked"))
        if any(each.has_kernel for each in given_objects):
            assert found.verdict is Verdict.OK
    else:
        refusal = TrialOutcome("nvlink 13.5.37", "refused", "unresolved", "no input defines f")
        found = judged(given_objects, refusal)
        assert found.verdict is Verdict.FAIL
    assert "symbols" not in found.not_judged


@settings(max_examples=100, deadline=None)
@given(LINKS)
def test_the_order_of_objects_changes_nothing(given_objects: list[Object]) -> None:
    assert judged(given_objects).verdict is judged(given_objects[::-1]).verdict
