"""Links made-up inputs with real nvJitLinks and nvlinks, and holds ``check`` against what they did.

``python tests/oracle/measure.py FOLDER [EACH] [--only STRATUM]... [--trial] [--record]``. FOLDER
keeps compilers, linkers, pieces and answers (some 8 GB), so that a second run asks what is new.
EACH is the number of links of each stratum, 550 unless told. ``--trial``: with trial links besides;
``--record``: links of fewer pieces, which are stored with the tests.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "sample_artifacts")]

import nvcc_objects  # noqa: E402
import recorded  # noqa: E402
from held_against import DISAGREE, Held, held, table  # noqa: E402
from link_cases import STRATA, Case, cases, key  # noqa: E402
from pieces import compiled  # noqa: E402
from real_linkers import Answer, asked  # noqa: E402
from toolchains import PackageCache  # noqa: E402

EACH = 550


def answered(made: Sequence[Case], folder: Path, cache: PackageCache) -> list[tuple[Case, Answer]]:
    """Each case with its answer, of an earlier run where there was one."""
    stored = folder / "answers.json"
    known = json.loads(stored.read_text("utf-8")) if stored.exists() else {}
    missing = [case for case in made if key(case) not in known]
    for case, answer in asked(missing, folder / "inputs", cache):
        known[key(case)] = [answer.accepted, answer.words]
    stored.write_text(json.dumps(known, indent=0), "utf-8")
    return [(case, Answer(*known[key(case)])) for case in made]


def described(row: Held) -> str:
    """A case that is not agreed on, for whoever mends it."""
    files = " ".join(file.file for file in row.case.files)
    target = f"{row.case.linker}={row.case.release},gpu=sm_{row.case.arch}"
    words = row.answer.words.replace("\n", " | ")
    return (
        f"{row.case.stratum}: {target} {files}\n  linker: {words}\n  check: {row.verdict} {row.why}"
    )


def main() -> None:
    """Make, ask, hold, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("each", type=int, nargs="?", default=EACH)
    parser.add_argument("--only", action="append", choices=list(STRATA))
    parser.add_argument("--trial", action="store_true")
    parser.add_argument("--record", action="store_true")
    chosen = parser.parse_args()
    cache = PackageCache(chosen.folder / "packages")
    pieces = compiled(chosen.folder / "pieces", cache)
    objects = nvcc_objects.objects(chosen.folder / "pieces", cache)
    if chosen.record:
        pieces, objects = recorded.kept(pieces, objects)
    made = list(cases(pieces, objects, chosen.each, chosen.only or STRATA))
    start = time.monotonic()
    answers = answered(made, chosen.folder, cache)
    asking = time.monotonic() - start
    if chosen.record:
        recorded.record(pieces, objects, answers)
    rows = list(held(answers, chosen.folder / "inputs", trial=chosen.trial))
    checking = time.monotonic() - start - asking
    for row in rows:
        if row.outcome == DISAGREE:
            print(described(row), end="\n\n")
    print(table(rows))
    print(f"\nasked in {asking:.0f} s, checked in {checking:.0f} s")


if __name__ == "__main__":
    main()
