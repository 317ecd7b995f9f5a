"""``ltocompat inspect`` of several wheels in one command, against inflating them on one core.

Run by hand: python tests/benchmarks/wheels_vs_inflation.py WHEEL...
Inflation is Python's zipfile, which checks every CRC too and throws away what it inflates. Both are
whole processes, timed in turn on the clock; the first round warms the caches.
"""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.resolve()))

from peers import Peer

BUDGET = 1.0
ROUNDS = 5
INFLATE = """
import os, sys, zipfile
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
for path in sys.argv[1:]:
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as member:
                while member.read(1 << 18):
                    pass
"""


def main(wheels: list[str]) -> None:
    ours = Peer("inspect", [sys.executable, "-m", "ltocompat", "inspect", *wheels])
    inflation = Peer("inflation", [sys.executable, "-c", INFLATE, *wheels])
    for number in range(ROUNDS + 1):
        for peer in (ours, inflation):
            peer.run()
            if number == 0:
                peer.seconds.clear()
                peer.cpu.clear()
                peer.peak.clear()
    size = sum(Path(wheel).stat().st_size for wheel in wheels) >> 20
    cores = len(os.sched_getaffinity(0))
    print(f"{len(wheels)} wheels, {size} MiB, {cores} cores for inspect, one for inflation")
    for peer in (ours, inflation):
        times = " ".join(f"{second:.2f}" for second in peer.seconds)
        cpu = statistics.median(peer.cpu)
        print(f"  {peer.name:<10} median {peer.median:6.3f} s  ({times}), processor {cpu:.2f} s")
    ratio = statistics.median(a / b for a, b in zip(ours.seconds, inflation.seconds, strict=True))
    print(f"  ratio {ratio:.2f} (budget {BUDGET})")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
