"""``ltocompat inspect`` of one library by one process and by one a core, against cuobjdump -lelf.

Run by hand: python tests/benchmarks/inspect_every_core.py LIBRARY [CUOBJDUMP]
It checks first that any number of processes says the same. Each command runs six times, in turn, of
which the first warms the caches. CPU is that of all processes; memory is the sum of their shares
(PSS), looked at every few milliseconds in a run of its own.
"""

from __future__ import annotations

import hashlib
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent / "../oracle"))

RUNS = 6
OURS = (sys.executable, "-m", "ltocompat", "inspect")
JOBS = (1, 2, 5, 16)
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


class Cost(NamedTuple):
    """Seconds on the clock, and of CPU in all processes."""

    wall: float
    cpu: float


def main(library: str, cuobjdump: str) -> None:
    answers = {jobs: _answer(library, jobs) for jobs in JOBS}
    if len(set(answers.values())) > 1:
        sys.exit(f"the answer depends on the number of processes: {answers}")
    cores = len(os.sched_getaffinity(0))
    print(f"{library}: {Path(library).stat().st_size >> 20} MiB, {cores} cores; any number of")
    print(f"processes ({', '.join(map(str, JOBS))}) says the same")
    commands = {
        "cuobjdump -lelf": (cuobjdump, "-lelf", library),
        "inspect --jobs 1": (*OURS, "--jobs", "1", library),
        "inspect": (*OURS, library),
    }
    rounds = [{name: _cost(command) for name, command in commands.items()} for _ in range(RUNS)][1:]
    peer = statistics.median(costs["cuobjdump -lelf"].wall for costs in rounds)
    for name, command in commands.items():
        walls = sorted(costs[name].wall for costs in rounds)
        wall = statistics.median(walls)
        cpu = statistics.median(costs[name].cpu for costs in rounds)
        print(
            f"{name:17} wall {wall:6.3f} s ({walls[0]:.3f} .. {walls[-1]:.3f})  cpu {cpu:6.3f} s  "
            f"{peer / wall:5.2f} times as fast  {_memory(command):5.0f} MiB"
        )


def _answer(library: str, jobs: int) -> str:
    command = (*OURS, "--jobs", str(jobs), "--format", "json", library)
    output = subprocess.run(command, stdout=subprocess.PIPE, env=ENVIRONMENT, check=True).stdout
    return hashlib.sha256(output).hexdigest()


def _cost(command: Sequence[str]) -> Cost:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, env=ENVIRONMENT, check=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _memory(command: Sequence[str]) -> float:
    """The most memory that a command and its children have at a time, MiB."""
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    most = 0
    while run.poll() is None:
        most = max(most, sum(map(_share, _family(run.pid))))
        time.sleep(0.005)
    return most / 1024


def _family(process: int) -> list[str]:
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return []
    return [str(process), *children.split()]


def _share(process: str) -> int:
    """The proportional share of memory of a process, KiB; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def _cuobjdump_of_tests() -> str:
    import cuobjdump

    return str(cuobjdump.executable())


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else _cuobjdump_of_tests())
