"""A wheel read as uploaded against plain inflation plus one inspection of its unpacked files.

Run by hand: python tests/benchmarks/wheel_vs_inflation.py
Plain inflation is Python's zipfile, which checks every CRC too; what it inflates is thrown away, so
that it pays for no disk. All are whole processes, timed in turn; the budget is 1.3 times the sum.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import zipfile
from pathlib import Path

for folder in (".", "../wild"):
    sys.path.insert(0, str((Path(__file__).parent / folder).resolve()))

import wheels  # noqa: E402 - beside the tests
from peers import Peer  # noqa: E402

WHEELS = (
    ("nvidia-libmathdx-cu12==0.3.1.9", "nvidia/cu12/lib/libmathdx.so.0"),
    ("nvidia-curand-cu12==10.3.7.77", "nvidia/curand/lib/libcurand.so.10"),
    ("libcuvs-cu13==26.10.0", "libcuvs/lib64/libcuvs.so"),
    ("nvidia-cublas==13.10.0.20", "nvidia/cu13/lib/libcublasLt.so.13"),
)
BUDGET = 1.3
ROUNDS = 5
INFLATE = """
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    for name in archive.namelist():
        with archive.open(name) as member:
            while member.read(1 << 18):
                pass
"""


def inspection(path: Path) -> list[str]:
    return [sys.executable, "-m", "ltocompat", "inspect", str(path)]


def compare(wheel: Path, unpacked: Path) -> None:
    """Print the medians and the median of the ratios, round by round."""
    ours = Peer("inspect the wheel", inspection(wheel))
    inflation = Peer("plain inflation", [sys.executable, "-c", INFLATE, str(wheel)])
    files = Peer("inspect its files", inspection(unpacked))
    for number in range(ROUNDS + 1):
        for peer in (ours, inflation, files):
            peer.run()
            if number == 0:  # the first round warms the caches
                peer.seconds.clear()
                peer.peak.clear()
    for peer in (ours, inflation, files):
        times = " ".join(f"{second:.2f}" for second in peer.seconds)
        peak = max(peer.peak) >> 10
        print(f"  {peer.name:<18} median {peer.median:6.3f} s   peak {peak:4} MiB   ({times})")
    rounds = zip(ours.seconds, inflation.seconds, files.seconds, strict=True)
    ratio = statistics.median(a / (b + c) for a, b, c in rounds)
    print(f"  ratio {ratio:.2f} (budget {BUDGET})")


def main() -> None:
    for requirement, name in WHEELS:
        wheels.member(requirement, name)
        (wheel,) = (wheels.CACHE / requirement.replace("==", "-")).glob("*.whl")
        print(f"{requirement} ({wheel.stat().st_size >> 20} MiB)")
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
            compare(wheel, Path(folder))


if __name__ == "__main__":
    main()
