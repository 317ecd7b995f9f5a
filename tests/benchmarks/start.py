"""What a short run costs beside ``import click``, which every run needs.

Run by hand: python tests/benchmarks/start.py
CPU time of the user and the kernel, the median of 11 interleaved runs of each.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

RUNS = 11
ARTIFACT = Path(__file__).parents[2] / "sample_artifacts/cubin/nvrtc-13.0-sm_90.cubin"
OURS = (sys.executable, "-m", "ltocompat")
BASE = (sys.executable, "-c", "import click")
# Name, command, most times the base, most seconds on a quiet core.
BARS = (
    ("--help", (*OURS, "--help"), 1.7, 0.12),
    ("inspect of a cubin", (*OURS, "inspect", str(ARTIFACT)), 3.1, 0.18),
)


def main() -> None:
    # Compiled modules are kept, as they are where packages are installed.
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    commands = (BASE, *(command for _, command, _, _ in BARS))
    for command in commands:
        _cpu(command, environ)
    rounds = [[_cpu(command, environ) for command in commands] for _ in range(RUNS)]
    base, *costs = (statistics.median(times) for times in zip(*rounds, strict=True))
    print(f"import click        {base:.3f} s")
    for (name, _, most, seconds), cost in zip(BARS, costs, strict=True):
        print(f"{name:19} {cost:.3f} s (bar {seconds}), {cost / base:.2f} times it (bar {most})")
    assert all(cost <= most * base for (_, _, most, _), cost in zip(BARS, costs, strict=True))


def _cpu(command: tuple[str, ...], environ: dict[str, str]) -> float:
    """Seconds of CPU that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environ, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
