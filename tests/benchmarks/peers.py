"""Whole processes, timed in pairs: A, B, A, B ..., so that both meet the same machine."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field


def _environment() -> dict[str, str]:
    """Ours, but with byte code kept as an installation keeps it."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


@dataclass(slots=True)
class Peer:
    """A command and what it cost: seconds and peak resident memory (KiB) of each run."""

    name: str
    command: Sequence[str]
    seconds: list[float] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)

    def run(self) -> None:
        start = time.perf_counter()
        child = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, env=_environment())
        _, status, usage = os.wait4(child.pid, 0)
        self.seconds.append(time.perf_counter() - start)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"{self.name} ended with {child.returncode}")
        self.peak.append(usage.ru_maxrss)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def compare(ours: Peer, peer: Peer, runs: int = 5) -> None:
    """Run both in turn, once to warm the caches and then ``runs`` times, and print the medians."""
    for number in range(runs + 1):
        for one in (ours, peer):
            one.run()
            if number == 0:
                one.seconds.clear()
                one.peak.clear()
    for one in (ours, peer):
        times = " ".join(f"{second:.2f}" for second in one.seconds)
        peak = max(one.peak) >> 10
        print(f"{one.name:<20} median {one.median:6.3f} s   peak {peak:5} MiB   ({times})")
    print(f"ratio {peer.median / ours.median:.2f} : 1")
