"""One link of several inputs is judged as nvJitLink links them, alone and side by side.

tests/data/together_links.json has what nvJitLink 12.0 .. 13.5 did with 2,794 mixtures, which
tests/measure_together.py compiled and linked without any code of this package;
device_links.json has what nvlink -dlto did with objects of different options
(tests/measure_device_links.py).
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from itertools import combinations, permutations
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rules import image

from ltocompat.facts import toolkits
from ltocompat.facts.gpus import find_gpu
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup, together_as_one
from ltocompat.model.image import ImageKind
from ltocompat.model.location import Location
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.symbols import DeviceSymbols
from ltocompat.model.target import Quantifier, Target, VersionSet
from ltocompat.model.trial_answer import TrialOutcome, link_key
from ltocompat.model.verdict import Result, Route, Verdict
from ltocompat.rules.engine.judge_artifact import results

DATA = Path(__file__).parent.parent / "data"
LINKS: dict[str, str] = json.loads((DATA / "together_links.json").read_text("utf-8"))["links"]
DEVICE_LINKS: dict[str, dict[str, str]] = json.loads(
    (DATA / "device_links.json").read_text("utf-8")
)["links"]
FIRST_WITH_FAMILY = Release(12, 9)
LTOIR = ("ltoir", "family")  # the second uses an instruction of its family


class Measured(NamedTuple):
    """One row: the inputs, the target and the release of nvJitLink, and whether all was linked."""

    inputs: tuple[str, ...]
    target: str
    linker: str
    linked: bool


def rows() -> list[Measured]:
    found = []
    for key, answer in LINKS.items():
        inputs, _, rest = key.partition(" for ")
        target, _, linker = rest.partition(" by ")
        found.append(Measured(tuple(inputs.split()), f"sm_{target}", linker, answer == "linked"))
    return found


ROWS = rows()
ALONE = [row for row in ROWS if len(row.inputs) == 1]


def code(name: str) -> ImageSignature:
    """An input as its bytes show it: bare LTO-IR shows the suffix ``a``, never ``f``, no name."""
    what, release, arch = name.split("-")
    bare: dict[str, object] = {"in_fatbin": False, "has_kernels": True}
    if what in LTOIR:
        return image(ImageKind.LTOIR, arch.removesuffix("f"), release, **bare)
    bare["symbols"] = DeviceSymbols(defined=(name,), kernels=(name,))
    if what == "ptx":
        return image(ImageKind.PTX, arch, release, isa=written_by(release), **bare)
    generation = 2 if release >= "13" or int(arch.rstrip("af")) >= 100 else 1
    relocatable = what == "sass"
    more = {"generation": generation, "relocatable": relocatable}
    return image(ImageKind.SASS, arch, release, **bare, **more)


def written_by(release: str) -> str:
    return {"12.0": "8.0", "12.4": "8.4", "12.9": "8.8", "13.0": "9.0", "13.5": "9.5"}[release]


def files(row: Measured) -> list[ArtifactSummary]:
    groups = [
        ModuleGroup(ModuleSignature((code(name),), registered=None), {}, 1, Location(name))
        for name in row.inputs
    ]
    return [ArtifactSummary("made-up", [group]) for group in groups]


def target_of(row: Measured) -> Target:
    release = VersionSet(row.linker, (Release.parse(row.linker),), Quantifier.ALL, "measured")
    return Target(name="row", nvjitlink=release, gpus=(find_gpu(row.target),))


@functools.cache  # several laws look at all rows
def judged(row: Measured) -> Result:
    """The verdict but for the names of LTO-IR, which no byte shows: these rows miss none."""
    (result,) = results(together_as_one(files(row)), target_of(row))
    return beside_names(result)


def beside_names(result: Result) -> Result:
    findings = (f for f in result.findings if f.rule != "BLD-10" or f.verdict is Verdict.FAIL)
    verdict = max((Verdict.OK, *(finding.verdict for finding in findings)))
    return replace(result, verdict=verdict)


def may_be_refused_for_its_instructions(name: str, target: str) -> bool:
    """LTO-IR that has, or may have, a suffix, on its way to a target that lacks it."""
    what, release, arch = name.split("-")
    if what not in LTOIR or (target == f"sm_{arch}" and arch.endswith("a")):
        return False
    hidden = int(arch.rstrip("af")) >= 100 and Release.parse(release) >= FIRST_WITH_FAMILY
    return arch.endswith("a") or hidden


def test_ptx_levels_are_those_of_the_compilers() -> None:
    for row in ALONE:
        release = row.inputs[0].split("-")[1]
        assert toolkits.ptx_cuda(written_by(release)) == Release.parse(release)


def agrees(row: Measured, verdict: Verdict) -> bool:
    """What is judged to work is linked, what is judged to fail isn't; a suffix is unknown."""
    if verdict is Verdict.UNKNOWN:
        return any(may_be_refused_for_its_instructions(name, row.target) for name in row.inputs)
    return row.linked == (verdict <= Verdict.UNDOCUMENTED)


def strata(row: Measured) -> str:
    """What kinds of code are in the link."""
    return "+".join(sorted({name.split("-")[0] for name in row.inputs}))


@pytest.mark.parametrize("kinds", sorted(set(map(strata, ROWS))))
def test_a_link_is_judged_as_it_was_measured(kinds: str) -> None:
    of_kind = [row for row in ROWS if strata(row) == kinds]
    verdicts = {row: judged(row).verdict for row in of_kind}
    assert not {row: found for row, found in verdicts.items() if not agrees(row, found)}


def test_few_links_are_unknown_but_for_suffixes() -> None:
    counts = Counter(judged(row).verdict for row in ROWS)
    plain = [
        row
        for row in ROWS
        if not any(may_be_refused_for_its_instructions(name, row.target) for name in row.inputs)
    ]
    assert counts[Verdict.OK] > 300
    assert counts[Verdict.FAIL] > 1000
    assert len(plain) > 1500
    assert all(judged(row).verdict is not Verdict.UNKNOWN for row in plain)


@pytest.mark.parametrize("wanted", [Route.LINK, None])
def test_one_file_is_judged_by_its_linker_on_the_line_of_the_link(wanted: Route | None) -> None:
    """``--route link`` and the line that nobody asked for say what nvJitLink did."""
    for row in ALONE:
        final = row.inputs[0].startswith("final")
        (file,) = files(row)
        found = list(results(file, target_of(row), wanted))
        loaded_only = final and wanted is None
        linked = [] if loaded_only else [each for each in found if each.route is not Route.LOAD]
        assert len(linked) == (not loaded_only), row
        assert all(agrees(row, result.verdict) for result in linked), row


def above(name: str, target: str) -> bool:
    """Whether LTO-IR is for a higher architecture than the target of its link."""
    what, _, arch = name.split("-")
    return what == "ltoir" and int(arch.rstrip("af")) > int(target.strip("sm_af"))


def test_what_linkers_do_not_check_is_never_promised() -> None:
    unchecked = [
        row for row in ROWS if row.linked and any(above(n, row.target) for n in row.inputs)
    ]
    assert {row.linker for row in unchecked} == {"12.0", "12.1"}
    verdicts = {judged(row).verdict for row in unchecked}
    assert verdicts == {
        Verdict.UNDOCUMENTED,
        Verdict.UNKNOWN,
    }  # of lto_90a, the instructions decide


def tried(row: Measured) -> Result:
    """The only file of a row, with the linker's own answer beside it."""
    (file,) = files(row)
    target = target_of(row)
    who = f"nvJitLink {row.linker}"
    answer = (
        TrialOutcome(who, "linked")
        if row.linked
        else TrialOutcome(who, "refused", None, "as it was measured")
    )
    (arch,) = (gpu.arch for gpu in target.gpus)
    (group,) = file.groups
    group.trials = {link_key(Release.parse(row.linker), arch): answer}
    (result,) = results(file, target, Route.LINK)
    return result


def test_a_trial_settles_what_bytes_leave_open() -> None:
    """What it links is ok where only its bytes hid that it is promised, as they hide an ``f``."""
    open_rows = [row for row in ALONE if judged(row).verdict is Verdict.UNKNOWN]
    hidden = set()
    for row in open_rows:
        verdict = tried(row).verdict
        suffixed = row.inputs[0].endswith("a")
        crosses = row.inputs[0].split("-")[1].split(".")[0] != row.linker.split(".")[0]
        linked = Verdict.UNDOCUMENTED if suffixed or crosses else Verdict.OK
        assert verdict is (linked if row.linked else Verdict.FAIL), row
        hidden |= {row.linked} if not suffixed and not crosses else set()
    assert hidden == {True, False}


def test_no_trial_contradicts_the_rules() -> None:
    for row in ALONE:
        assert "TRIAL-DISAGREES" not in {finding.rule for finding in tried(row).findings}, row


def orders(row: Measured) -> list[Measured]:
    return [row._replace(inputs=inputs) for inputs in permutations(row.inputs)]


def test_the_order_of_inputs_changes_no_verdict() -> None:
    for row in ROWS[::7]:
        assert len({judged(each).verdict for each in orders(row)}) == 1


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(ROWS), st.sampled_from(ROWS))
def test_one_more_input_never_betters_a_link(row: Measured, other: Measured) -> None:
    more = row._replace(inputs=tuple(dict.fromkeys((*row.inputs, *other.inputs))))
    assert judged(more).verdict >= judged(row).verdict


# The options that nvcc stores with LTO-IR, for those that it is given.
DEFAULT_OPTIONS = {"-ftz": "0", "-prec_div": "1", "-prec_sqrt": "1", "-fmad": "1"}
STORED_OPTIONS = {
    "-maxrregcount=32": {"-maxreg": "32"},
    "-maxrregcount=64": {"-maxreg": "64"},
    "-use_fast_math": {"-ftz": "1", "-prec_div": "0", "-prec_sqrt": "0"},
    "-ftz=true": {"-ftz": "1"},
    "-ftz=false": {},
    "-prec-div=false": {"-prec_div": "0"},
    "-prec-sqrt=false": {"-prec_sqrt": "0"},
    "-fmad=false": {"-fmad": "0"},
    "-lineinfo": {"-generate-line-info": ""},
}


def waiting_object(release: str, flags: str) -> ArtifactSummary:
    """An object of LTO-IR, as nvcc makes it with these flags."""
    stored = dict(DEFAULT_OPTIONS)
    for flag in flags.split():
        stored |= STORED_OPTIONS[flag]
    options = " ".join(f"{name} {value}" for name, value in stored.items())
    ltoir = replace(image(ImageKind.LTOIR, "80", release), options=options)
    signature = ModuleSignature((ltoir,), registered=False, needs_device_link=True)
    place = Location(f"{flags}.o")
    return ArtifactSummary(str(place), [ModuleGroup(signature, {}, 1, place)])


def device_linked(release: str, *all_flags: str) -> Result:
    known = VersionSet(release, (Release.parse(release),), Quantifier.ALL, "measured")
    target = Target(name="row", nvlink=known, gpus=(find_gpu("sm_80"),))
    parts = [waiting_object(release, flags) for flags in all_flags]
    (result,) = results(together_as_one(parts), target)
    return beside_names(result)


@pytest.mark.parametrize("release", DEVICE_LINKS)
def test_nvlink_takes_and_refuses_options_as_measured(release: str) -> None:
    for pair, answer in DEVICE_LINKS[release].items():
        first, second = pair.split(" | ") if not pair.startswith(" | ") else ("", pair[3:])
        result = device_linked(release, first, second)
        found = [finding.message for finding in result.findings if finding.rule == "LTO-12"]
        if answer == "linked":
            assert result.verdict is Verdict.OK, pair
            # nvlink says that it builds both with what one side has.
            assert bool(found) == (first != second and {first, second} != {"", "-ftz=false"}), pair
        else:
            assert result.verdict is Verdict.FAIL, pair
            assert any(f"'{answer}' do not match" in message for message in found), pair


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["", *STORED_OPTIONS]), min_size=3, max_size=5))
def test_many_objects_link_where_every_two_of_them_do(flags: list[str]) -> None:
    pairs = [device_linked("13.0", *pair).verdict for pair in combinations(flags, 2)]
    assert device_linked("13.0", *flags).verdict == max(pairs)
