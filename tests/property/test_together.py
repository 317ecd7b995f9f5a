"""One link of several inputs is judged as nvJitLink links them, alone and side by side.

tests/data/together_links.json has what nvJitLink 12.0 .. 13.5 did with 2,491 mixtures, which
tests/measure_together.py compiled and linked without any code of this package.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from rules import image

from ltocompat.facts import ptx
from ltocompat.facts.gpus import find_gpu
from ltocompat.model.arch import Release
from ltocompat.model.artifact_summary import ArtifactSummary, ModuleGroup
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
    return ArtifactSummary("made-up", groups)


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


@pytest.mark.parametrize("kind", ["ltoir", "ptx", "sass", "final"])
def test_one_input_links_where_it_was_measured(kind: str) -> None:
    wrong = []
    seen: Counter[Verdict] = Counter()
    for row in ALONE:
        if row.inputs[0].startswith(kind):
            verdict = judged(row).verdict
            seen[verdict] += 1
            if not agrees(row, verdict):
                wrong.append((row, verdict))
    assert not wrong
    assert seen.total() > 90
