"""Trial links under confinement against the same without, in turn: at most 1.1 times the time.

Run by hand: python tests/benchmarks/trial_confined.py LIBRARY   (a libnvJitLink.so)
Each round starts a pool, asks all, and ends it: confining a child is part of what is measured.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from samples import FOLDER

from ltocompat.trial.link_pool import Pool
from ltocompat.trial.values import (
    DEFAULT_TRIAL_LIMITS,
    InputKind,
    LinkOutcome,
    Request,
    TrialInput,
    TrialLimits,
)

MOST = 1.1
ROUNDS = 9
OPTIONS = ("-lto", "-arch=sm_90")
CODE = (FOLDER / "ltoir" / "nvrtc-12.0-lto_80.ltoir").read_bytes()
WAYS = {"confined": DEFAULT_TRIAL_LIMITS, "free": TrialLimits(sandbox=())}


def requests(count: int, *, complete: bool) -> list[Request]:
    """So many trials, each of an input of its own name, all of one file."""
    return [
        Request(
            (TrialInput(f"saxpy{n}", InputKind.LTOIR, CODE),),
            OPTIONS,
            complete=complete,
            file="saxpy",
        )
        for n in range(count)
    ]


def seconds(library: str, limits: TrialLimits, asked: list[Request]) -> float:
    """Time on the clock of a pool that is asked all of it, once."""
    begun = time.perf_counter()
    with Pool(library, limits=limits) as pool:
        answers = list(pool.run(asked))
    took = time.perf_counter() - begun
    if any(a.outcome not in (LinkOutcome.LINKED, LinkOutcome.ACCEPTED) for a in answers):
        sys.exit(f"not all were taken: {answers[0]}")
    return took


def main(library: str) -> int:
    """Print both ways of asking; 1 where confinement costs more than it may."""
    wrong = 0
    for name, asked in (
        ("500 inputs added", requests(500, complete=False)),
        ("30 whole links", requests(30, complete=True)),
    ):
        took: dict[str, list[float]] = {way: [] for way in WAYS}
        for number in range(ROUNDS + 1):
            for way, limits in WAYS.items() if number % 2 else reversed(WAYS.items()):
                used = seconds(library, limits, asked)
                if number:  # the first round warms what the system keeps
                    took[way].append(used)
        pairs = zip(took["confined"], took["free"], strict=True)
        ratio = statistics.median(a / b for a, b in pairs)
        best = min(took["confined"]) / min(took["free"])
        print(f"{name}: free {min(took['free']):.3f} s; confined {ratio:.3f}x, best {best:.3f}x")
        wrong += min(ratio, best) > MOST
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
