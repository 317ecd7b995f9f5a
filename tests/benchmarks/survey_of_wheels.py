"""What surveys cost: behind an index on the loopback, and against single audits of the same wheels.

    python tests/benchmarks/survey_of_wheels.py index FOLDER OUT [--jobs N]
    python tests/benchmarks/survey_of_wheels.py audits FOLDER [--wheels N] [--repeat N]

FOLDER has wheels at hand, or links to them, itself or in folders below. Nothing but the loopback is
asked. ``index`` measures time, processor, memory and bytes fetched of a survey of all of them.

``audits`` takes N of them, from the smallest to the largest, and measures

* an ``audit`` of each, a process of its own, with the deploy targets that the survey judges for;
* the same without a policy, as ``audit`` is when nobody names targets: it judges no driver and no
  GPU, so that this is the harder peer;
* one survey of them in this process alone, and one with two workers.

Bars: the survey with two workers takes at most 1.1 times the processor time of the audits, and it
takes that long that one process takes at least 1.8 times as long. A survey also weighs what it
reads (``inspect --weigh``), which no audit does. Processor times include starting each process and,
of surveys, Dask. The wall-clock times mean something on two idle cores only. Of several
repetitions each figure is the least; that of the audits is the least of their sums.
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
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from index_server import Index, serving

from ltocompat.commands.survey.dataset import Dataset
from ltocompat.commands.survey.default_targets import default_targets
from ltocompat.commands.survey.sources import of_folder
from ltocompat.commands.survey.tables import MEASURED, TABLES, columns

COMMAND = (sys.executable, "-c", "import sys; from ltocompat.cli import main; sys.exit(main())")
MOST_CPU = 1.1
LEAST_SPEEDUP = 1.8


class Cost(NamedTuple):
    """Seconds that a command and all its processes took."""

    wall: float
    cpu: float


def serve(folder: Path, ready: Any, over: Any) -> None:  # noqa: ANN401 - of multiprocessing
    with serving(Index(folder)) as index:
        ready.send(index.url)
        over.wait()


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ltocompat(*words: str, environ: dict[str, str]) -> Cost:
    """Run a command line, whatever it finds."""
    began, cpu = time.monotonic(), children()
    subprocess.run(
        ["nice", *COMMAND, *words],  # noqa: S607
        env=environ,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    return Cost(time.monotonic() - began, children() - cpu)


def least(costs: Sequence[Cost]) -> Cost:
    return Cost(min(cost.wall for cost in costs), min(cost.cpu for cost in costs))


def surveyed(out: Path, cost: Cost) -> dict[str, Any]:
    """What a survey behind an index cost."""
    rows = Dataset(str(out)).table("distributions").to_pylist()
    statuses: dict[str, int] = {}
    for row in rows:
        statuses[row["status"]] = statuses.get(row["status"], 0) + 1
    by_members = [row for row in rows if row["looked_at"] == "members"]
    return {
        "distributions": len(rows),
        "projects": len({row["project"] for row in rows}),
        "statuses": statuses,
        "bytes": sum(row["size"] or 0 for row in rows),
        "bytes_fetched": sum(row["bytes_fetched"] for row in rows),
        "by_members_alone": len(by_members),
        "bytes_of_these": sum(row["size"] for row in by_members),
        "fetched_of_these": sum(row["bytes_fetched"] for row in by_members),
        "wall_seconds": round(cost.wall, 1),
        "cpu_seconds": round(cost.cpu, 1),
        "cpu_seconds_of_tasks": round(sum(row["cpu_seconds"] for row in rows), 1),
        "largest_memory_of_a_worker": max(row["peak_memory"] for row in rows),
    }


def behind_an_index(folder: Path, out: Path, jobs: str) -> dict[str, Any]:
    context = multiprocessing.get_context("spawn")
    ready, sender = context.Pipe(duplex=False)
    over = context.Event()
    server = context.Process(target=serve, args=(folder, sender, over), daemon=True)
    server.start()
    url = ready.recv()
    environ = os.environ | {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": url}
    words = ("survey", url, "-o", str(out), "--releases", "99", "--every-python")
    cost = ltocompat(*words, "--jobs", jobs, environ=environ)
    over.set()
    server.join()
    return surveyed(out, cost)


def policy(folder: Path, platforms: Sequence[str]) -> Path:
    """A policy with the deploy targets of a survey of packages for these platforms."""
    names: list[str] = []
    lines: list[str] = []
    for spelling in default_targets(platforms):
        names.append(f"target{len(names)}")
        lines.append(f"[targets.{names[-1]}]")
        lines += ['{} = "{}"'.format(*part.split("=")) for part in spelling.split(",")]
    path = folder / "ltocompat.toml"
    path.write_text("\n".join([*lines, "[audit]", f"targets = {json.dumps(names)}", ""]))
    return path


def against_audits(folder: Path, number: int, repeat: int) -> dict[str, Any]:
    """Processor time of single audits of some wheels, and time of a survey of the same."""
    found = sorted(of_folder(str(folder)), key=lambda wheel: (wheel.size or 0, wheel.filename))
    step = max(len(found) / number, 1.0)
    chosen = [found[int(place * step)] for place in range(min(number, len(found)))]
    environ = dict(os.environ)
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    surveys: dict[int, list[Cost]] = {1: [], 2: []}
    alike, plain = [0.0] * repeat, [0.0] * repeat
    with tempfile.TemporaryDirectory() as text:
        some, out = Path(text) / "wheels", Path(text) / "out"
        some.mkdir()
        for wheel in chosen:
            (some / wheel.filename).symlink_to(Path(wheel.source).resolve())
        for turn in range(repeat):
            for wheel in chosen:
                words = ("audit", "-q", str(some / wheel.filename))
                plain[turn] += ltocompat(*words, environ=environ).cpu
                config = str(policy(Path(text), wheel.platforms))
                alike[turn] += ltocompat(*words, "--config", config, environ=environ).cpu
            for jobs, costs in surveys.items():
                line = ("survey", str(some), "-o", f"{out}-{jobs}-{turn}")
                costs.append(ltocompat(*line, "--jobs", str(jobs), environ=environ))
        equal = rows(Path(f"{out}-1-0")) == rows(Path(f"{out}-2-0"))
    one, two = least(surveys[1]), least(surveys[2])
    sums = {"with_the_same_targets": min(alike), "without_targets": min(plain)}
    return {
        "wheels": len(chosen),
        "bytes": sum(wheel.size or 0 for wheel in chosen),
        "rows_of_one_process_and_of_two_workers_are_equal": equal,
        "cpu_seconds_of_audits": {name: round(cpu, 1) for name, cpu in sums.items()},
        "cpu_seconds_of_surveys": {"one": round(one.cpu, 1), "two": round(two.cpu, 1)},
        "cpu_ratio_of_one_process": {name: round(one.cpu / cpu, 2) for name, cpu in sums.items()},
        "cpu_ratio_of_two_workers": {name: round(two.cpu / cpu, 2) for name, cpu in sums.items()},
        "most": MOST_CPU,
        "wall_seconds_of_surveys": {"one": round(one.wall, 1), "two": round(two.wall, 1)},
        "speedup": round(one.wall / two.wall, 2),
        "least": LEAST_SPEEDUP,
    }


def rows(out: Path) -> dict[str, list[str]]:
    """All rows, sorted, without the columns that two runs may fill differently."""
    found = {}
    for name in TABLES:
        kept = [column.name for column in columns(name) if column.name not in MEASURED]
        found[name] = sorted(map(repr, Dataset(str(out)).table(name, kept).to_pylist()))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    index = verbs.add_parser("index")
    index.add_argument("folder", type=Path)
    index.add_argument("out", type=Path)
    index.add_argument("--jobs", default="2")
    audits = verbs.add_parser("audits")
    audits.add_argument("folder", type=Path)
    audits.add_argument("--wheels", type=int, default=20)
    audits.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    if options.verb == "index":
        answer = behind_an_index(options.folder, options.out, options.jobs)
    else:
        answer = against_audits(options.folder, options.wheels, options.repeat)
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()
