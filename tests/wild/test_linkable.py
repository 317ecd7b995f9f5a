"""``linkable`` against nvJitLink itself, on made-up sets of fragments as bytes.

Compilers and linkers come from PyPI; a folder in ``LTOCOMPAT_ORACLE`` keeps them and all answers.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import nvcc_objects
import pytest
from link_cases import SEED, STRATA, Case, cases
from measure import answered
from pieces import compiled
from toolchains import PackageCache

import ltocompat
from ltocompat import Verdict

pytestmark = pytest.mark.wild

SETS = 500
# What no byte shows (tests/wild/test_made_up_links.py says of each how often it is unknown).
OPEN = ("damaged headers", "cubin headers", "copied SASS", "nvlink")
NAMES = ("Unresolved extern", "Undefined reference", "ERROR 9", "ERROR 1: finish", "ultiple")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = os.environ.get("LTOCOMPAT_ORACLE")
    return Path(kept) if kept else tmp_path_factory.mktemp("oracle")


def drawn(folder: Path) -> list[Case]:
    """Links that nvJitLink gets as they lie in files, the same number of each stratum."""
    cache = PackageCache(folder / "packages")
    pieces = compiled(folder / "pieces", cache)
    objects = nvcc_objects.objects(folder / "pieces", cache)
    strata = [name for name in STRATA if name not in OPEN]
    each = 2 * SETS // len(strata)
    whole: dict[str, list[Case]] = {}
    for case in cases(pieces, objects, each, strata, SEED + 30):
        plain = all([data for _, data in file.linked] == [file.data] for file in case.files)
        if plain and case.linker == "nvjitlink":
            whole.setdefault(case.stratum, []).append(case)
    share = -(-SETS // len(whole))
    return [case for some in whole.values() for case in some[:share]][:SETS]


def test_no_ok_is_refused_and_no_fail_is_linked(folder: Path) -> None:
    sets = drawn(folder)
    counts: Counter[str] = Counter()
    wrong = []
    for case, answer in answered(sets, folder, PackageCache(folder / "packages")):
        told = ltocompat.linkable(
            [file.data for file in case.files], linker=case.release, arch=f"sm_{case.arch}"
        )
        hidden = "symbols" in told.result.not_judged and any(n in answer.words for n in NAMES)
        if told.verdict is Verdict.UNKNOWN or hidden:
            counts["unknown" if told.verdict is Verdict.UNKNOWN else "not judged: symbols"] += 1
        elif (told.verdict is Verdict.FAIL) == answer.accepted:
            names = [file.file for file in case.files]
            wrong.append(f"{case.stratum} {case.release} {case.arch} {names}: {told} {answer}")
        else:
            counts[f"right {told.verdict}"] += 1
    print(dict(counts), "wrong", len(wrong))
    assert not wrong
    assert sum(counts.values()) == SETS
