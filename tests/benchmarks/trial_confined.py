"""Trials under confinement against the same without, in turn: at most 1.1 times the time.

Run by hand: python tests/benchmarks/trial_confined.py LIBRARY   (a libnvJitLink.so: links)
             python tests/benchmarks/trial_confined.py --loads   (of a machine with a GPU)
Each round starts a pool, asks all, and ends it: confining a child is part of what is measured.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parent.parent))

from samples import FOLDER

from ltocompat.trial.link_pool import Pool
from ltocompat.trial.load_pool import LoadPool
from ltocompat.trial.load_values import DEFAULT_LOAD_LIMITS, LoadOutcome, LoadRequest
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


def loads(count: int) -> list[LoadRequest]:
    """So many loads of modules of PTX, none like another: the driver compiles each."""
    text = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k{}() {{ ret; }}\n"
    return [LoadRequest(f"k{n}", text.format(n).encode(), (f"k{n}",)) for n in range(count)]


def seconds_of_loads(limits: TrialLimits, asked: list[LoadRequest]) -> float:
    """Time on the clock of a pool that loads all of it, once."""
    begun = time.perf_counter()
    with LoadPool(limits=limits) as pool:
        answers = list(pool.run(asked))
    took = time.perf_counter() - begun
    if any(answer.outcome is not LoadOutcome.LOADED for answer in answers):
        sys.exit(f"not all were loaded: {answers[0]}")
    return took


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


def compared(name: str, seconds: Callable[[TrialLimits], float], limits: TrialLimits) -> bool:
    """Print both ways of asking, and return whether confinement costs no more than it may."""
    ways = {"confined": limits, "free": replace(limits, sandbox=())}
    took: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(ROUNDS + 1):
        for way, chosen in ways.items() if number % 2 else reversed(ways.items()):
            used = seconds(chosen)
            if number:  # the first round warms what the system keeps
                took[way].append(used)
    pairs = zip(took["confined"], took["free"], strict=True)
    ratio = statistics.median(a / b for a, b in pairs)
    best = min(took["confined"]) / min(took["free"])
    print(f"{name}: free {min(took['free']):.3f} s; confined {ratio:.3f}x, best {best:.3f}x")
    return min(ratio, best) <= MOST


def main(library: str) -> int:
    """Compare links or loads; 1 where confinement costs more than it may."""
    if library == "--loads":
        few, many = loads(1), loads(300)
        return not all(
            (
                compared(
                    "1 load", lambda limits: seconds_of_loads(limits, few), DEFAULT_LOAD_LIMITS
                ),
                compared(
                    "300 loads", lambda limits: seconds_of_loads(limits, many), DEFAULT_LOAD_LIMITS
                ),
            )
        )
    added, whole = requests(500, complete=False), requests(30, complete=True)
    return not all(
        (
            compared(
                "500 inputs", lambda limits: seconds(library, limits, added), DEFAULT_TRIAL_LIMITS
            ),
            compared(
                "30 links", lambda limits: seconds(library, limits, whole), DEFAULT_TRIAL_LIMITS
            ),
        )
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
