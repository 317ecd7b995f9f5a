"""Whole processes, timed in turn: A, B, A, B ..., so that all meet the same machine.

Run by hand: python tests/benchmarks/peers.py LIBRARY WHEEL CUOBJDUMP CUBLOATY [--write]
It prints the README's table of what a user waits for, of this machine, which has to be idle.
WHEEL is the one that LIBRARY lies in, CUOBJDUMP and CUBLOATY are the programs. --write: the table
takes the place of the one in the README.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
BEGIN, END = "<!-- measured -->", "<!-- end -->"
RUNS = 5
CUBIN = ROOT / "sample_artifacts" / "cubin" / "nvrtc-13.0-sm_90.cubin"


def _environment() -> dict[str, str]:
    """Ours, but with byte code kept as an installation keeps it."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


@dataclass(slots=True)
class Peer:
    """A command and what each run cost: seconds, of the processor too, and peak memory (KiB)."""

    name: str
    command: Sequence[str]
    codes: tuple[int, ...] = (0,)  # exit codes that it may end with
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)

    def run(self) -> None:
        start = time.perf_counter()
        child = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, env=_environment())
        _, status, usage = os.wait4(child.pid, 0)
        self.seconds.append(time.perf_counter() - start)
        self.cpu.append(usage.ru_utime + usage.ru_stime)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in self.codes:
            sys.exit(f"{self.name} ended with {child.returncode}")
        self.peak.append(usage.ru_maxrss)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def compare(ours: Peer, peer: Peer, runs: int = RUNS) -> None:
    """Run both in turn, once to warm the caches and then ``runs`` times, and print the medians."""
    _take_turns((ours, peer), runs)
    for one in (ours, peer):
        times = " ".join(f"{second:.2f}" for second in one.seconds)
        peak = max(one.peak) >> 10
        print(f"{one.name:<20} median {one.median:6.3f} s   peak {peak:5} MiB   ({times})")
    print(f"ratio {peer.median / ours.median:.2f} : 1")


def _take_turns(peers: Sequence[Peer], runs: int) -> None:
    for number in range(runs + 1):
        for peer in peers:
            peer.run()
            if number == 0:
                peer.seconds.clear()
                peer.cpu.clear()
                peer.peak.clear()


def table(library: str, wheel: str, cuobjdump: str, cubloaty: str) -> Iterator[str]:
    """The lines of the README's table; a dash where a program doesn't answer that question."""
    ours = (sys.executable, "-m", "ltocompat")
    large, whole = (
        f"{name} ({Path(path).stat().st_size >> 20} MiB)"
        for name, path in ((Path(library).name, library), ("its wheel", wheel))
    )
    readers = ((*ours, "inspect"), (cuobjdump, "-lelf"), (cubloaty,))
    rows = {
        "`--help`": [(*words, "--help") for words in (ours, (cuobjdump,), (cubloaty,))],
        "`inspect` of a cubin (4 KiB)": [(*words, str(CUBIN)) for words in readers],
        f"`inspect` of {large}": [(*words, library) for words in readers],
        f"`require` of {large}": [(*ours, "require", library)],
        f"`matrix` of {large}": [(*ours, "matrix", library)],
        f"`audit` of {whole}": [(*ours, "audit", wheel)],
    }
    yield f"| on {len(os.sched_getaffinity(0))} cores | ltocompat | cuobjdump -lelf | cubloaty |"
    yield "|---|--:|--:|--:|"
    for what, commands in rows.items():
        peers = [Peer(what, command) for command in commands]
        _take_turns(peers, RUNS)
        cells = [_seconds(peer.median) for peer in peers] + ["-"] * (len(readers) - len(peers))
        yield f"| {what} | {' | '.join(cells)} |"


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 0.01 else "< 0.01 s"


def main(*words: str) -> None:
    os.environ["XDG_CACHE_HOME"] = "/dev/null"  # no summary of an earlier run is found again
    lines = []
    for line in table(*(word for word in words if word != "--write")):
        print(line, flush=True)
        lines.append(line)
    if "--write" in words:
        before, rest = README.read_text("utf-8").split(BEGIN)
        text = "\n".join((before + BEGIN, *lines, END + rest.partition(END)[2]))
        README.write_text(text, "utf-8")


if __name__ == "__main__":
    if len(sys.argv) not in (5, 6) or sys.argv[5:] not in ([], ["--write"]):
        sys.exit(__doc__)
    main(*sys.argv[1:])
