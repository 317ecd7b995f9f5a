"""Links made-up inputs with real nvJitLinks and nvlinks, and holds ``check`` against what they did.

``python tests/oracle/measure.py FOLDER [EACH] [--only STRATUM]... [--seed N] [--trial|--record]``.
FOLDER keeps compilers, linkers, pieces and answers (some 8 GB), so that a second run asks what is
new; with ``--only`` it goes piece by piece. EACH is the number of links of each stratum, 550 unless
told. ``--seed``: other links; ``--trial``: with trial links besides; ``--record``: links of fewer
pieces, which are stored with the tests.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "sample_artifacts")]

import nvcc_objects  # noqa: E402
import recorded  # noqa: E402
from held_against import DISAGREE, Held, held, table  # noqa: E402
from link_cases import SEED, STRATA, Case, cases, key  # noqa: E402
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


def measured(
    folder: Path, each: int, strata: Iterable[str], *, seed: int = SEED, trial: bool = False
) -> list[Held]:
    """Links of these strata, each held against what the real linker did with it."""
    cache = PackageCache(folder / "packages")
    pieces = compiled(folder / "pieces", cache)
    objects = nvcc_objects.objects(folder / "pieces", cache)
    answers = answered(list(cases(pieces, objects, each, strata, seed)), folder, cache)
    return list(held(answers, folder / "inputs", trial=trial))


def recorded_anew(folder: Path, each: int) -> list[Held]:
    """The links of few pieces, which are stored with the tests."""
    cache = PackageCache(folder / "packages")
    pieces, objects = recorded.kept(
        compiled(folder / "pieces", cache), nvcc_objects.objects(folder / "pieces", cache)
    )
    answers = answered(list(cases(pieces, objects, each)), folder, cache)
    recorded.record(pieces, objects, answers)
    return list(held(answers, folder / "inputs"))


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
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--trial", action="store_true")
    parser.add_argument("--record", action="store_true")
    chosen = parser.parse_args()
    start = time.monotonic()
    if chosen.record:
        rows = recorded_anew(chosen.folder, chosen.each)
    else:
        strata = chosen.only or STRATA
        rows = measured(chosen.folder, chosen.each, strata, seed=chosen.seed, trial=chosen.trial)
    for row in rows:
        if row.outcome == DISAGREE:
            print(described(row), end="\n\n")
    print(table(rows))
    print(f"\nin {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
