"""Survey real wheels behind an index on the loopback: time, processor, memory, bytes fetched.

python tests/benchmarks/survey_of_wheels.py FOLDER OUT [--jobs N] [--audits N]

FOLDER has wheels at hand (or links to them). With --audits, N of those with device code are also
audited one by one, each by a process of its own, and surveyed alone, for the ratio of processor
times. Nothing but the loopback is asked.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from index_server import Index, serving

COMMAND = (sys.executable, "-c", "import sys; from ltocompat.cli import main; sys.exit(main())")


def serve(folder: Path, ready: Any, over: Any) -> None:  # noqa: ANN401 - of multiprocessing
    with serving(Index(folder)) as index:
        ready.send(index.url)
        over.wait()


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ltocompat(*words: str, environ: dict[str, str]) -> tuple[float, float]:
    """Wall-clock and processor time of a command and all its processes, seconds."""
    began, cpu = time.monotonic(), children()
    subprocess.run(["nice", *COMMAND, *words], env=environ, check=False)  # noqa: S607
    return time.monotonic() - began, children() - cpu


def surveyed(out: Path, wall: float, cpu: float) -> dict[str, Any]:
    from ltocompat.commands.survey.dataset import Dataset

    rows = Dataset(str(out)).table("distributions").to_pylist()
    statuses: dict[str, int] = {}
    for row in rows:
        statuses[row["status"]] = statuses.get(row["status"], 0) + 1
    return {
        "distributions": len(rows),
        "projects": len({row["project"] for row in rows}),
        "statuses": statuses,
        "bytes": sum(row["size"] or 0 for row in rows),
        "bytes_fetched": sum(row["bytes_fetched"] for row in rows),
        "by_members_alone": sum(row["looked_at"] == "members" for row in rows),
        "bytes_of_these": sum(row["size"] for row in rows if row["looked_at"] == "members"),
        "fetched_of_these": sum(
            row["bytes_fetched"] for row in rows if row["looked_at"] == "members"
        ),
        "wall_seconds": round(wall, 1),
        "cpu_seconds": round(cpu, 1),
        "cpu_seconds_of_tasks": round(sum(row["cpu_seconds"] for row in rows), 1),
        "largest_memory_of_a_worker": max(row["peak_memory"] for row in rows),
    }


def audited(folder: Path, out: Path, number: int, environ: dict[str, str]) -> dict[str, Any]:
    """Processor time of single audits of some wheels, and of one survey of the same."""
    from ltocompat.commands.survey.dataset import Dataset

    rows = Dataset(str(out)).table("distributions").to_pylist()
    known = sorted((row["size"], row["filename"]) for row in rows if row["status"] == "read")
    step = max(len(known) // number, 1)
    names = [name for _, name in known[::step]][:number]
    with tempfile.TemporaryDirectory() as text:
        some = Path(text) / "wheels"
        some.mkdir()
        for name in names:
            (some / name).symlink_to((folder / name).resolve())
        audits = [ltocompat("audit", "-q", str(some / name), environ=environ) for name in names]
        runs = {
            jobs: ltocompat(
                *("survey", str(some), "-o", f"{text}/{jobs}", "--no-cache", "--jobs", str(jobs)),
                environ=environ,
            )
            for jobs in (1, 2)
        }
    cpu = sum(seconds for _, seconds in audits)
    return {
        "wheels": names,
        "cpu_seconds_of_audits": round(cpu, 1),
        "survey_wall_and_cpu_by_jobs": {
            jobs: [round(s, 1) for s in run] for jobs, run in runs.items()
        },
        "cpu_ratio": round(runs[2][1] / cpu, 2),
        "speedup_on_two": round(runs[1][0] / runs[2][0], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--audits", type=int, default=0)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ready, sender = context.Pipe(duplex=False)
    over = context.Event()
    server = context.Process(target=serve, args=(options.folder, sender, over), daemon=True)
    server.start()
    url = ready.recv()
    environ = os.environ | {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": url}
    words = ("survey", url, "-o", str(options.out), "--no-cache", "--releases", "99")
    wall, cpu = ltocompat(*words, "--every-python", "--jobs", options.jobs, environ=environ)
    print(json.dumps(surveyed(options.out, wall, cpu), indent=2), flush=True)
    if options.audits:
        found = audited(options.folder, options.out, options.audits, environ)
        print(json.dumps(found, indent=2))
    over.set()
    server.join()


if __name__ == "__main__":
    main()
