"""Thousands of made-up links: ``check``, with and without a trial, agrees with real linkers.

Compilers and linkers come from PyPI, some 8 GB; a folder in ``LTOCOMPAT_ORACLE`` keeps them and all
answers. Linkers for trials are installed where ``ltocompat linkers install`` keeps them. The links
of the suite itself are few and recorded (tests/test_recorded_links.py).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from held_against import DISAGREE, Held
from link_cases import STRATA
from measure import EACH, described, measured

pytestmark = pytest.mark.wild

# What no byte shows: instructions behind a suffix, what a damaged header was, and who made LTO-IR
# that is scrambled: entries of nvcc 13.4 and 13.5 are equal. Where nvJitLink 12.0 copies
# SASS, it crashes in one run and not in the next.
SHARE = {
    "suffixes": 0.1,
    "damaged headers": 0.8,
    "cubin headers": 1.0,
    "-rdc": 0.1,
    "nvlink": 0.2,
    "no kernels": 0.06,
    "copied SASS": 0.2,
}
# No byte shows the names in LTO-IR either: only a linker tells whether a whole link with some
# defines all that it calls (BLD-10). Links that are open for anything else count above.
NAMES = {"PTX + LTO-IR": 0.36, "mixed architectures": 0.13, "-rdc": 0.08, "nvlink": 0.18}
# A linker that drops kernels of a damaged input in silence leaves its verdict open, and so does one
# that links by chance.
OPEN = ("damaged headers", "cubin headers", "copied SASS")
TRIED = 100  # of each stratum; a trial takes a second


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = os.environ.get("LTOCOMPAT_ORACLE")
    return Path(kept) if kept else tmp_path_factory.mktemp("oracle")


def contradicted(rows: list[Held]) -> list[str]:
    return [described(row) for row in rows if row.outcome == DISAGREE]


def unknown(rows: list[Held]) -> int:
    return sum(row.outcome == "unknown" for row in rows)


def about_names(row: Held) -> bool:
    return row.outcome == "unknown" and row.case.lto and row.why.startswith("BLD-10: ")


@pytest.mark.parametrize("stratum", STRATA)
def test_no_verdict_is_contradicted_and_few_are_unknown(stratum: str, folder: Path) -> None:
    rows = measured(folder, EACH, [stratum])
    names = [row for row in rows if about_names(row)]
    assert not contradicted(rows)
    assert len(names) <= NAMES.get(stratum, 0.05) * EACH
    assert unknown(rows) - len(names) <= SHARE.get(stratum, 0.05) * EACH


@pytest.mark.parametrize("stratum", STRATA)
def test_no_trial_is_contradicted_and_hardly_any_leaves_it_unknown(
    stratum: str, folder: Path
) -> None:
    rows = measured(folder, TRIED, [stratum], trial=True)
    assert not contradicted(rows)
    assert stratum in OPEN or unknown(rows) <= 0.02 * TRIED
