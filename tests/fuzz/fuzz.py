"""Feeds every reader, and whole verbs, with changed bytes, and keeps what they do not stand.

``python tests/fuzz/fuzz.py --minutes 30``: targets take turns on all cores.
``python tests/fuzz/fuzz.py --inputs 100000 --verb-inputs 60000 --jobs 16 --coverage``: so many
inputs for each. An input that ends in another error than ours, takes too long or too much memory,
or prints, is made small and written into ``found/``, and the status is 1. ``tests/test_fuzz.py``
replays that folder.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import itertools
import math
import mmap
import os
import pickle
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE.parent.parent, HERE.parent, HERE.parent / "oracle"):
    sys.path.insert(0, str(folder))

from tabulate import tabulate  # noqa: E402 - these are found beside this file

from fuzz import files, verbs  # noqa: E402
from fuzz.lines import Line, Lines, by_function, ranges  # noqa: E402
from fuzz.mutate import Material, mutated  # noqa: E402
from fuzz.readers import NO_READERS, READERS, Reader  # noqa: E402
from fuzz.relations import LAWS  # noqa: E402
from fuzz.watch import Watch, confine  # noqa: E402

FOUND = HERE / "found"
CORPUS = HERE / "corpus"
VERBS = "verbs"
TARGETS = {
    **READERS,
    **LAWS,
    VERBS: Reader(
        verbs.read,
        verbs.seeds_of_verbs,
        words=verbs.words_of_verbs(),
        form=verbs.FORM,
        seconds=10.0,
    ),
}
_SHARES = 8  # parts of a target's inputs, so that processes end at about the same time
_SHORTEST_TURN = 10.0  # seconds; inputs that grew are forgotten with a turn
_TURNS_OF_CPU = 2
_MINIMISING = 8.0  # seconds
_LONGEST_GROWN = 200_000
_MOST_GROWN = 2_000
_MOST_KEPT = 2_000  # of a target, by one run
_SLOW = 0.05  # seconds of CPU from which an input is worth making slower
_GO_ON_SLOW = 0.05  # the share of inputs that are made of slow ones
_MONITORED = hasattr(sys, "monitoring")


@dataclass(frozen=True, slots=True)
class Task:
    """A part of the work for one process.

    Attributes:
        name: of the target.
        inputs: at most so many.
        end: when to stop, on the monotonic clock.
        seed: of the dice.
        lines: whether to see which lines are reached, and to grow the inputs by that.
        first: whether to end with the first find, as it is.
        cpu: how many seconds of CPU it may take.
    """

    name: str
    inputs: int
    end: float
    seed: str
    lines: bool
    first: bool = False
    cpu: float = math.inf


@dataclass(slots=True)
class Done:
    """What came of a target.

    Attributes:
        inputs: how many were read.
        seconds: of CPU.
        found: the first input for each thing that is wrong.
        hit: lines that were reached.
        grown: inputs that reached more than all before.
        new: how many of them there were.
    """

    inputs: int = 0
    seconds: float = 0.0
    found: dict[str, bytes] = field(default_factory=dict)
    hit: set[Line] = field(default_factory=set)
    grown: list[bytes] = field(default_factory=list)
    new: int = 0

    def add(self, other: Done) -> None:
        """Take what came of another part."""
        self.inputs += other.inputs
        self.seconds += other.seconds
        self.hit |= other.hit
        self.new += len(other.grown)
        for what, data in other.found.items():
            self.found.setdefault(what, data)


def work(task: Task, show: Callable[[bytes], None] = lambda _: None) -> Done:
    """Read inputs; those that reach new lines, or take longer than all before, are changed on."""
    target, dice, done = TARGETS[task.name], random.Random(task.seed), Done()  # noqa: S311 - no secret
    pool = _Pool(task.name, dice)
    lines = Lines(_all_files() if task.lines else (), _without())
    answers: set[object] = set()
    bound = target.seconds * (1 if _MONITORED or not task.lines else 10)
    begun = time.process_time()
    if task.lines:
        lines.start()
    with Watch() as watch:
        for data in itertools.islice(pool.inputs(), task.inputs):
            if time.monotonic() > task.end or time.process_time() - begun > task.cpu:
                break
            show(data)
            before = len(lines.hit)
            what = watch.failure(target.read, data, bound)
            done.inputs += 1
            if what is None:
                more = len(lines.hit) > before or (target.guided and watch.answer not in answers)
                answers.add(watch.answer if target.guided else None)
                pool.learn(data, watch.spent, reached_more=more)
            elif what not in done.found:
                if task.first:
                    done.found[what] = data
                    break
                done.found[what] = _minimised(watch, target, data, what, show)
    if task.lines:
        lines.stop()
    done.seconds, done.hit = time.process_time() - begun, lines.hit
    done.grown = pool.grown
    return done


@functools.cache
def _sound(name: str) -> tuple[bytes, ...]:
    """The sound inputs of a target."""
    return tuple(TARGETS[name].seeds())


@functools.cache
def _corpus(name: str) -> tuple[bytes, ...]:
    """What earlier runs kept of a target."""
    where = CORPUS / name.replace(" ", "-")
    return tuple(path.read_bytes() for path in sorted(where.glob("*")))


def minimise(name: str) -> str:
    """Keep the shortest inputs of a corpus that reach all it reaches; say how many."""
    target, where = TARGETS[name], CORPUS / name.replace(" ", "-")
    lines, answers, kept = Lines(_all_files(), _without()), set[object](), 0
    lines.start()
    with Watch() as watch:
        paths = sorted(where.glob("*"), key=lambda path: path.stat().st_size)
        for path in paths:
            before = len(lines.hit) + len(answers)
            watch.failure(target.read, path.read_bytes(), 10 * target.seconds)
            answers.add(watch.answer if target.guided else None)
            if len(lines.hit) + len(answers) > before:
                kept += 1
            else:
                path.unlink()
    lines.stop()
    return f"{name}: {kept} of {len(paths)} inputs reach all"


class _Pool:
    """What inputs are made from: sound ones, those that reached new lines, and slow ones."""

    def __init__(self, name: str, dice: random.Random) -> None:
        target, sound = TARGETS[name], list(_sound(name))
        dice.shuffle(sound)  # every share begins with others of them
        self._sound = tuple(sound)
        self._kept = _corpus(name)
        self.grown: list[bytes] = []
        self._slow: list[bytes] = []
        self._slowest = _SLOW
        self._material = Material(self._sound, target.words, target.text, target.wraps, target.form)
        self._dice = dice

    def inputs(self) -> Iterator[bytes]:
        """The sound ones, those of earlier runs, then changed ones without end."""
        yield from self._sound
        yield from self._kept
        while True:
            yield mutated(self._begin(), self._material, self._dice)

    def _begin(self) -> bytes:
        which = self._dice.random()
        if which < _GO_ON_SLOW and self._slow:
            return self._dice.choice(self._slow)
        if which < 0.5 and self.grown:
            return self._dice.choice(self.grown)
        return self._dice.choice(self._sound)

    def learn(self, data: bytes, spent: float, *, reached_more: bool) -> None:
        """Keep an input to go on from, where it is worth it."""
        if len(data) > _LONGEST_GROWN:
            return
        if reached_more and len(self.grown) < _MOST_GROWN:
            self.grown.append(data)
        if spent > 1.5 * self._slowest:
            self._slowest = spent
            self._slow = [*self._slow[-4:], data]


def _minimised(
    watch: Watch, target: Reader, data: bytes, what: str, show: Callable[[bytes], None]
) -> bytes:
    """The same failure from fewer bytes, as far as leaving pieces out leads in this time."""
    end, size = time.monotonic() + _MINIMISING, max(1, len(data) // 2)
    while size and time.monotonic() < end:
        position = 0
        while position < len(data) and time.monotonic() < end:
            shorter = data[:position] + data[position + size :]
            show(shorter)
            if watch.failure(target.read, shorter, target.seconds) == what:
                data = shorter
            else:
                position += size
        size //= 2
    return data


class _Process:
    """A forked process with a task, and what it leaves behind if it dies."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._result = tempfile.TemporaryFile()  # noqa: SIM115 - closed by ``done``
        self._input = mmap.mmap(-1, 8 + (4 << 20))
        self.number = os.fork()
        if self.number == 0:
            self._run()

    def _run(self) -> None:
        code = 1
        confine()
        try:
            done = work(self.task, self._show)
            pickle.dump(done, self._result)
            self._result.flush()
            code = 0
        except BaseException:  # noqa: BLE001 - the parent tells
            import traceback

            traceback.print_exc()
        finally:
            files.clear()
            os._exit(code)

    def _show(self, data: bytes) -> None:
        size = min(len(data), 4 << 20)
        self._input[:8] = size.to_bytes(8, "little")
        self._input[8 : 8 + size] = data[:size]

    def done(self, status: int) -> Done:
        """What it found; where it died, of what."""
        if status == 0:
            self._result.seek(0)
            with self._result as file:
                result: Done = pickle.load(file)  # noqa: S301 - our own child's
            return result
        size = int.from_bytes(self._input[:8], "little")
        code = os.waitstatus_to_exitcode(status)
        how = f"killed by signal {-code}" if code < 0 else "the process ended, or hung in C code"
        return Done(1, 0.0, {how: bytes(self._input[8 : 8 + size])})


def spread(tasks: Iterable[Task], jobs: int) -> Iterator[tuple[str, Done]]:
    """Have the tasks done by so many processes; what came of each as it ends."""
    running: dict[int, _Process] = {}
    waiting = iter(tasks)
    try:
        while True:
            for task in itertools.islice(waiting, jobs - len(running)):
                process = _Process(task)
                running[process.number] = process
            if not running:
                return
            number, status = os.wait()
            process = running.pop(number)
            yield process.task.name, process.done(status)
    finally:
        for number in running:
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)


def turns(names: Sequence[str], words: argparse.Namespace) -> Iterator[Task]:
    """Turns of all targets until the time is up, on the wall, or for each target of CPU."""
    end = time.monotonic() + 60 * words.minutes
    turn = max(_SHORTEST_TURN, 60 * words.minutes * words.jobs / len(names) / 2)
    cpu = 60 * words.cpu_minutes / _TURNS_OF_CPU if words.cpu_minutes else math.inf
    rounds = range(_TURNS_OF_CPU) if words.cpu_minutes else itertools.count()
    for number, name in ((n, name) for n in rounds for name in names):
        now = time.monotonic()
        if now > end:
            return
        until = end if words.cpu_minutes else min(end, now + turn)
        seed = f"{words.seed}-{name}-{number}"
        yield Task(name, sys.maxsize, until, seed, words.lines, words.first, cpu)


def shares(names: Sequence[str], words: argparse.Namespace) -> Iterator[Task]:
    """Shares of a number of inputs for each target; none begins when the time is up."""
    end = time.monotonic() + 60 * words.minutes
    for name in names:
        many, parts = words.inputs, _SHARES
        if name == VERBS or name in LAWS:
            many, parts = words.verb_inputs, 4 * _SHARES
        for number in range(parts):
            if time.monotonic() > end:
                return
            share = many * (number + 1) // parts - many * number // parts
            yield Task(name, share, end, f"{words.seed}-{name}-{number}", words.lines, words.first)


def keep(name: str, data: bytes, where: Path) -> str:
    """Write a found case; its name."""
    digest = hashlib.sha256(data).hexdigest()[:12]
    where.mkdir(parents=True, exist_ok=True)
    path = where / f"{name.replace(' ', '-')}-{digest}".lstrip("-")
    path.write_bytes(data)
    return path.name


def report(results: dict[str, Done], *, lines: bool, seconds: float) -> str:
    """The table of all targets."""
    rows, hit = list[list[str]](), _hit(results)
    for name, done in results.items():
        rate = done.inputs / done.seconds if done.seconds else 0.0
        row = [name, f"{done.inputs:,}", f"{done.seconds:.0f}", f"{3600 * rate:,.0f}"]
        row += [f"{done.new:,}", str(len(done.found))]
        if lines:
            reached, every, _ = _coverage(name, hit)
            row += [f"{every:,}", f"{100 * reached / every:.0f} %"] if every else ["", ""]
        rows.append(row)
    total = sum(done.inputs for done in results.values())
    titles = [
        "target",
        "inputs",
        "seconds",
        "inputs per CPU hour",
        "new",
        "found",
        *(["lines", "reached"] if lines else []),
    ]
    sides = ("left", *["right"] * (len(titles) - 1))
    table = tabulate(rows, titles, "github", disable_numparse=True, colalign=sides)
    hours = sum(done.seconds for done in results.values()) / 3600
    of_all = f"{total / hours:,.0f} inputs per CPU hour" if hours else ""
    return f"{table}\n{total:,} inputs in {seconds:.0f} s, {hours:.2f} CPU hours; {of_all}"


def _hit(results: dict[str, Done]) -> set[Line]:
    """Lines that any target reached."""
    return set().union(*(done.hit for done in results.values()))


@functools.cache
def _all_files() -> frozenset[str]:
    """The files of all readers: one that serves another is reached by that one's inputs, too."""
    return frozenset(file for reader in READERS.values() for file in reader.files())


@functools.cache
def _without() -> dict[str, tuple[str, ...]]:
    """Functions that are no readers, by their files."""
    return {str(import_module(f"ltocompat.{m}").__file__): names for m, names in NO_READERS.items()}


def _coverage(name: str, hit: set[Line]) -> tuple[int, int, list[str]]:
    """How many of a target's lines were reached, of how many, and which were not."""
    wanted = Lines(TARGETS[name].files(), _without()).wanted
    missed = {
        file: {n for n in numbers if (file, n) not in hit} for file, numbers in wanted.items()
    }
    every = sum(map(len, wanted.values()))
    told = []
    for path in sorted(Path(file) for file, numbers in missed.items() if numbers):
        functions = by_function(path, missed[str(path)])
        parts = (f"{function} {ranges(numbers)}" for function, numbers in functions.items())
        told.append(f"  {path.parent.name}/{path.name}: {', '.join(parts)}")
    return every - sum(map(len, missed.values())), every, told


def _not_reached(results: dict[str, Done]) -> Iterator[str]:
    """The lines of each target that none of its inputs, nor of another's, reached."""
    for name in results:
        reached, every, missed = _coverage(name, _hit(results))
        if missed:
            yield from (f"{name}: {reached} of {every} lines; not reached:", *missed)


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, help="of wall clock (5, or with --inputs 600)")
    parser.add_argument("--cpu-minutes", type=float, help="of each target, within --minutes")
    parser.add_argument("--inputs", type=int, help="of each target")
    parser.add_argument("--verb-inputs", type=int, help="of whole verbs, where fewer")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", action="append", choices=sorted(TARGETS))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--first", action="store_true", help="end with the first find")
    parser.add_argument("--coverage", action="store_true", help="name lines that are not reached")
    parser.add_argument("--replay", type=Path, help="read this file alone, by the target of --only")
    parser.add_argument("--minimise", action="store_true", help="the corpus of earlier runs")
    parser.add_argument("--found", type=Path, default=FOUND, help="where found cases are kept")
    words = parser.parse_args()
    if words.replay and len(words.only or ()) != 1:
        parser.error("--replay needs the one target that reads the file: --only NAME")
    if words.minutes is None:
        words.minutes = 600.0 if words.inputs else 5.0
    if words.verb_inputs is None:
        words.verb_inputs = words.inputs
    words.lines = words.coverage or _MONITORED
    return words


def _prepare(names: Sequence[str], *, lines: bool) -> None:
    """Make once here what no process has to make again."""
    for name in names:
        _sound(name)
    if lines:
        Lines(_all_files(), _without())


def replay(name: str, path: Path) -> int:
    """Read a file by a target, and say what is wrong; 1 where something is."""
    target = TARGETS[name]
    _prepare((name,), lines=False)  # what is made once is not the time of this input
    with Watch() as watch:
        what = watch.failure(target.read, path.read_bytes(), target.seconds)
    print(f"{name}: {what or 'read in peace'}")
    return 0 if what is None else 1


def _take(name: str, done: Done, results: dict[str, Done], where: Path) -> None:
    """Keep what was found, and what reached more, for the next run."""
    for what, data in done.found.items():
        if what not in results[name].found:
            kept = keep(name, data, where)
            print(f"{name}: {what}: kept {len(data)} bytes as {kept}", flush=True)
    corpus = CORPUS / name.replace(" ", "-")
    for data in done.grown[: max(0, _MOST_KEPT - results[name].new)]:
        keep("", data, corpus)
    results[name].add(done)


def main() -> int:
    """Read the command line, and run."""
    words = _words()
    if words.replay:
        return replay(words.only[0], words.replay)
    names = words.only or [VERBS, *LAWS, *READERS]  # what takes longest comes first
    if words.minimise:
        print("\n".join(map(minimise, names)))
        return 0
    print(f"seed {words.seed}", flush=True)
    results = {name: Done() for name in names}
    _prepare(names, lines=words.lines)
    tasks = (turns if words.inputs is None else shares)(names, words)
    begun = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):
        for name, done in spread(tasks, words.jobs):
            _take(name, done, results, words.found)
            if words.first and done.found:
                break
    print(report(results, lines=words.lines, seconds=time.monotonic() - begun))
    if words.coverage:
        print("\n".join(_not_reached(results)))
    return 1 if any(done.found for done in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
