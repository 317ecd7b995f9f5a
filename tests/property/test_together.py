"""One link of several inputs is judged as nvJitLink links them, alone and side by side.

tests/data/together_links.json has what nvJitLink 12.0 .. 13.5 did with 2,491 mixtures, which
tests/measure_together.py compiled and linked without any code of this package.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rules import image

from ltocompat.facts import ptx
from ltocompat.facts.gpus import find_gpu
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup, together_as_one
from ltocompat.model.image import ImageKind
from ltocompat.model.place import Place
from ltocompat.model.signature import ImageSignature, ModuleSignature
from ltocompat.model.target import Quantifier, Target, VersionSet
from ltocompat.model.verdict import Result, Route, Verdict
from ltocompat.rules.engine.judge_artifact import results

STORED = Path(__file__).parent.parent / "data" / "together_links.json"
LINKS: dict[str, str] = json.loads(STORED.read_text("utf-8"))["links"]
FIRST_WITH_FAMILY = Release(12, 9)


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
    """An input as its header shows it: bare LTO-IR shows the suffix ``a``, and never ``f``."""
    what, release, arch = name.split("-")
    bare: dict[str, object] = {"in_fatbin": False, "has_kernels": True}
    if what == "ltoir":
        return image(ImageKind.LTOIR, arch.removesuffix("f"), release, **bare)
    if what == "ptx":
        return image(ImageKind.PTX, arch, release, isa=written_by(release), **bare)
    generation = 2 if release >= "13" or int(arch.rstrip("af")) >= 100 else 1
    relocatable = what == "sass"
    more = {"generation": generation, "relocatable": relocatable}
    return image(ImageKind.SASS, arch, release, **bare, **more)


def written_by(release: str) -> str:
    return {"12.0": "8.0", "12.4": "8.4", "12.9": "8.8", "13.0": "9.0", "13.5": "9.5"}[release]


def summary(row: Measured) -> ArtifactSummary:
    groups = [
        ModuleGroup(ModuleSignature((code(name),), registered=None), {}, 1, Place(name))
        for name in row.inputs
    ]
    return together_as_one([ArtifactSummary("made-up", [group]) for group in groups])


def judged(row: Measured) -> Result:
    release = VersionSet(row.linker, (Release.parse(row.linker),), Quantifier.ALL, "measured")
    target = Target(name="row", nvjitlink=release, gpus=(find_gpu(row.target),))
    (result,) = results(summary(row), target, Route.LINK)
    return result


def may_be_refused_for_its_instructions(name: str, target: str) -> bool:
    """LTO-IR that has, or may have, a suffix, on its way to a target that lacks it."""
    what, release, arch = name.split("-")
    if what != "ltoir" or (target == f"sm_{arch}" and arch.endswith("a")):
        return False
    hidden = int(arch.rstrip("af")) >= 100 and Release.parse(release) >= FIRST_WITH_FAMILY
    return arch.endswith("a") or hidden


def test_ptx_levels_are_those_of_the_compilers() -> None:
    for row in ALONE:
        release = row.inputs[0].split("-")[1]
        assert ptx.ptx_cuda(written_by(release)) == Release.parse(release)


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
