"""Puts mended bugs back, one at a time, and says how long the fuzzer takes to find each again.

``python tests/fuzz/put_back.py --minutes 5 [--only pax] [--jobs 2]``: each bug is a small
substitution in a copy of the project, which asserts that it applies; the target that reads there is
fuzzed until its first find, for so many minutes of CPU, however busy the machine is. No case that
was kept is an input, so that nothing leads there. A find counts where the project without the bug
reads the same input in peace; else it is new, and kept.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from fuzz.mistakes import MISTAKES, Bug  # noqa: E402 - it is found beside this file
from fuzz.planted import PLANTED, THIRD  # noqa: E402

PROJECT = HERE.parent.parent
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "found", "corpus", "docs", "benchmarks")
_LEAST = 0.1  # minutes of CPU, below which no search begins
_MOST_WALL = 600  # minutes


BUGS = (
    Bug(
        "a tar's pax record of length 0 is read for ever",
        "tar",
        "files/archives/tar.py",
        (
            (
                '    if not (key and equals and value.endswith(b"\\n")):\n',
                "    if found is None or end > len(data):\n",
            ),
        ),
    ),
    Bug(
        "a requirement with a number of 5,000 digits",
        "requirements",
        "targets/versions/requirement.py",
        (("    if ENDLESS.search(text):\n", "    if not isinstance(text, str):\n"),),
    ),
    Bug(
        "a place with a number of 5,000 digits",
        "place",
        "model/location.py",
        (("{1,16})((?:\\.[0-9]{1,9}){0,2})", "+)((?:\\.[0-9]+){0,2})"),),
    ),
    Bug(
        "an LZ4 image of any size is decoded as a whole",
        "payload",
        "files/codec.py",
        (("    payload.budget.check_window(2 * declared)\n", ""),),
    ),
    Bug(
        "braces in a text that is explained",
        "explain",
        "rules/message_values.py",
        (
            (
                "_own(sentence + template[end:].format_map(known), is_alien)",
                "_own((sentence + template[end:]).format_map(known), is_alien)",
            ),
        ),
    ),
    Bug(
        "a temporary file that is left open",
        "compressed",
        "files/archives/spool.py",
        (("        os.close(self.descriptor)\n", "        pass\n"),),
    ),
    Bug(
        "a link of a machine that leads to itself",
        "root",
        "files/inside.py",
        (("                if links > _MOST_LINKS:\n", "                if links < 0:\n"),),
    ),
    Bug(
        "an error that quotes a value without end",
        "target",
        "model/errors.py",
        (("_LONGEST = 4000 ", "_LONGEST = 1 << 40 "),),
    ),
    Bug(
        "JSON in a conda package that nests too deeply",
        "conda",
        "model/words.py",
        (("    except (ValueError, RecursionError):\n", "    except ValueError:\n"),),
    ),
    Bug(
        "every requirement is tried with every extra",
        "installed",
        "packages/resolving.py",
        (
            (
                "order if named is None else sorted(named & order.keys(), key=order.__getitem__)",
                "order",
            ),
            ("in budget.timed(tried, slow=True):", "in tried:"),
            ("        budget.check_time()\n        if environment", "        if environment"),
            ("        budget.check_time()\n        dependency, line", "        dependency, line"),
        ),
    ),
    Bug(
        "a cubin that names a section beyond its last",
        "cubin",
        "files/images/cubin.py",
        (("    if index >= len(rows):\n", "    if index < 0:\n"),),
    ),
    Bug(
        "digits of other scripts in a classifier",
        "metadata",
        "packages/declared.py",
        (
            (r"(?: :: ([0-9]{1,2}\.[0-9]{1,2}))?", r"(?: :: (\d{1,2}\.\d{1,2}))?"),
            (", re.ASCII", ""),
        ),
    ),
    *MISTAKES,
)


def put_back(bug: Bug, folder: Path) -> None:
    """Copy the project into a folder, with the bug."""
    for name in ("ltocompat", "tests", "sample_artifacts"):
        shutil.copytree(PROJECT / name, folder / name, ignore=_LEFT_OUT)
    path = folder / "ltocompat" / bug.file
    text = path.read_text("utf-8")
    for new, old in bug.changes:
        assert new in text, f"{bug.file} has no {new!r}"
        text = text.replace(new, old)
    path.write_text(text, "utf-8")


@dataclass(frozen=True, slots=True)
class Search:
    """What came of looking for a bug.

    Attributes:
        minutes: of wall clock.
        cpu: minutes of CPU.
        what: is wrong; None where nothing of it was found.
    """

    minutes: float
    cpu: float
    what: str | None = None


def search(bug: Bug, minutes: float, seed: int) -> Search:
    """Fuzz a copy of the project with the bug until the first find of it, so many CPU minutes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        put_back(bug, folder)
        found = folder / "found"
        begun, cpu = time.monotonic(), 0.0
        while minutes - cpu > _LEAST:
            words = ["--only", bug.target, "--cpu-minutes", str(minutes - cpu), "--jobs", "1"]
            words += [
                "--minutes",
                str(_MOST_WALL),
                "--first",
                "--seed",
                str(seed),
                "--found",
                str(found),
            ]
            text, status, used = _fuzzed(folder, words)
            cpu += used
            kept = next(found.iterdir(), None) if found.is_dir() else None
            if kept is None and status:
                raise RuntimeError(f"the fuzzer of {bug.name!r} ended by an error: {text[-2000:]}")
            if kept is not None and _is_of(bug, kept):
                line = next(line for line in text.splitlines() if line.startswith(bug.target + ":"))
                what = line.removeprefix(f"{bug.target}: ").partition(": kept")[0]
                return Search((time.monotonic() - begun) / 60, cpu, what)
            shutil.rmtree(found, ignore_errors=True)
            seed += 1000
        return Search((time.monotonic() - begun) / 60, cpu)


def _fuzzed(folder: Path, words: list[str]) -> tuple[str, int, float]:
    """Run a copy's fuzzer: its output, its status, and the minutes of CPU that it took."""
    with open(folder / "output", "w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            [sys.executable, str(folder / "tests" / "fuzz" / "fuzz.py"), *words],
            stdout=output,
            stderr=output,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = 0  # it was waited for
        output.seek(0)
        return output.read(), status, (used.ru_utime + used.ru_stime) / 60


def _is_of(bug: Bug, case: Path) -> bool:
    """Whether the project without the bug reads this in peace; if not, it is kept."""
    words = [sys.executable, str(HERE / "fuzz.py"), "--only", bug.target, "--replay", str(case)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.copy(case, HERE / "found")
        print(f"{done.stdout.strip()}, without the bug, too: kept as {case.name}", flush=True)
    return done.returncode == 0


def main() -> int:
    """Read the command line, and look for each bug; 1 where over two were not found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5, help="of CPU for each bug")
    parser.add_argument("--only", help="bugs with this word in their name")
    parser.add_argument("--jobs", type=int, default=1, help="bugs that are looked for at a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--laws", action="store_true", help="mistakes that break a law alone")
    parser.add_argument("--planted", action="store_true", help="those of another author alone")
    parser.add_argument("--third", action="store_true", help="the newest ten of other authors")
    words = parser.parse_args()
    chosen = ((words.third, THIRD), (words.planted, PLANTED), (words.laws, MISTAKES), (True, BUGS))
    every = next(bugs for wanted, bugs in chosen if wanted)
    bugs = [bug for bug in every if not words.only or words.only in bug.name]
    missed = 0
    with ThreadPoolExecutor(words.jobs) as pool:
        searches = {pool.submit(search, bug, words.minutes, words.seed): bug for bug in bugs}
        for done in as_completed(searches):
            bug, found = searches[done], done.result()
            missed += found.what is None
            spent = f"{found.minutes:.1f} minutes, {found.cpu:.1f} of CPU"
            print(f"{bug.name} ({bug.target}): {found.what or 'not found'}: {spent}", flush=True)
    print(f"{len(bugs) - missed} of {len(bugs)} found")
    return 1 if missed > 2 else 0


if __name__ == "__main__":
    sys.exit(main())
