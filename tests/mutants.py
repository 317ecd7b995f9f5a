"""Small changes of the code, drawn by the commit; those that no test kills are listed.

usage: python tests/mutants.py [--record] [--number 60] [--seed TEXT] [--room rules] [--jobs N]
                               [--limit 400] [--long 1200] [--all] [-- words for pytest]

``--record`` runs the quick and the slow tests once and keeps which of them call which function, in
build/mutants/map.json; without a map it is done first. With names of test files behind ``--`` it
runs those again, and other files keep their rows. ``--all`` lists the killed, too, with the test.
A mutant is a bound moved, and/or exchanged, a number one off, a branch or a call dropped, or two
arguments swapped; never a message, a type or a cache. It meets all tests that call its function,
the quickest first. If these have not ended at ``--limit``, they run again in all processes, those
that call the fewest functions first. Only a test that fails, or that still is in the changed
function at ``--long``, kills it.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("rules", "scan", "files", "commands")
MAP = ROOT / "build" / "mutants" / "map.json"
SENDERS = {"kill", "killpg"}  # with their arguments swapped, they end processes of others
SYMMETRIC = {"max", "min", "suppress"}  # with their arguments swapped, they give the same
TIERS = ("-m", "not wild and not nightly")
HERE = "<root>"  # in the names of tests that have a path of this tree among their values
RECORDED = "LTOCOMPAT_RECORDED_CALLS"  # a folder: of the runs that record


class Mutant(NamedTuple):
    """A change of one place."""

    path: str
    line: int
    end_line: int
    column: int
    end_column: int
    function: str
    what: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.function}: {self.what}: {self.text}"

    def applied(self, source: str) -> str:
        """Return the source with the change."""
        lines = source.encode().splitlines(keepends=True)
        before = b"".join(lines[: self.line - 1]) + lines[self.line - 1][: self.column]
        after = lines[self.end_line - 1][self.end_column :] + b"".join(lines[self.end_line :])
        return (before + self.text.encode() + after).decode()


BOUNDS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}


def _condition(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in BOUNDS:
            yield (
                "a bound moved",
                ast.Compare(node.left, [BOUNDS[type(operator)]()], node.comparators),
            )
        case ast.BoolOp():
            other = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
            yield "and/or exchanged", ast.BoolOp(other, node.values)
        case ast.IfExp():
            yield "a branch dropped", node.orelse
        case ast.If():
            yield "a branch dropped", ast.If(node.test, [ast.Pass()], node.orelse)


def _value(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            yield "a number one off", ast.Constant(number + 1)
        case ast.Expr(value=ast.Call()):
            yield "a call dropped", ast.Pass()
        case ast.Call(args=[first, second, *rest]):
            starred = isinstance(first, ast.Starred) or isinstance(second, ast.Starred)
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            kept = starred or name in SENDERS | SYMMETRIC
            if not kept and ast.dump(first) != ast.dump(second):
                yield (
                    "arguments swapped",
                    ast.Call(node.func, [second, first, *rest], node.keywords),
                )


class _Finder(ast.NodeVisitor):
    """Finds every change of a file."""

    def __init__(self, path: str, source: str) -> None:
        self.path = path
        self.lines = source.encode().splitlines()
        self.found: list[Mutant] = []
        self.names: list[str] = []  # of the classes, and of the function that is outermost
        self.inside = False

    def visit(self, node: ast.AST) -> None:
        """Note the changes of a node in a function, and look inside."""
        if self.inside and isinstance(node, ast.expr | ast.stmt):
            for what, changed in (*_condition(node), *_value(node)):
                self.found.append(self._mutant(node, what, changed))
        super().visit(node)

    def _mutant(self, node: ast.expr | ast.stmt, what: str, changed: ast.AST) -> Mutant:
        text = ast.unparse(ast.fix_missing_locations(changed))
        text = text.replace("\n", "\n" + " " * node.col_offset)
        if self.lines[node.lineno - 1][node.col_offset :].startswith(b"elif "):
            text = f"el{text}"
        text = f"({text})" if isinstance(changed, ast.expr) else text
        end, end_column = node.end_lineno or 0, node.end_col_offset or 0
        place = (self.path, node.lineno, end, node.col_offset, end_column)
        return Mutant(*place, ".".join(self.names), what, text)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Look into its methods."""
        if not self.inside:
            self.names.append(node.name)
            self.generic_visit(node)
            self.names.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Look into its body: neither at decorators, which keep answers, nor at types."""
        outermost, self.inside = not self.inside, True
        if outermost:
            self.names.append(node.name)
        for child in node.body:
            self.visit(child)
        if outermost:
            self.names.pop()
            self.inside = False

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Look at the value, not at its type."""
        if node.value is not None:
            self.visit(node.value)

    def _passed_over(self, node: ast.AST) -> None:
        """Messages."""

    visit_Raise = visit_JoinedStr = visit_Assert = _passed_over  # noqa: N815


def mutants_of(path: str, source: str) -> list[Mutant]:
    """Every change of a file, function by function."""
    finder = _Finder(path, source)
    finder.visit(ast.parse(source))
    return finder.found


def draw(seed: str, number: int, rooms: tuple[str, ...]) -> list[Mutant]:
    """Draw as many mutants of each room, and of each kind, from wherever there are any."""
    dice = random.Random(seed)  # noqa: S311 - nobody guards anything with it
    chosen: list[Mutant] = []
    found: dict[str, dict[str, list[Mutant]]] = {room: defaultdict(list) for room in rooms}
    for room in rooms:
        for path in sorted((ROOT / "ltocompat" / room).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            for mutant in mutants_of(name, path.read_text("utf-8")):
                found[room][mutant.what].append(mutant)
    for at in range(number):
        kinds = found[rooms[at % len(rooms)]]
        chosen.append(dice.choice(kinds[dice.choice(sorted(kinds))]))
    return chosen


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Keep the functions that a test calls which passes: a plug-in of the runs that record."""
    prefix, called = str(ROOT / "ltocompat") + os.sep, set[str]()
    failed = item.session.testsfailed
    _forget()

    def seen(frame: object, event: str, _: object) -> None:
        code = getattr(frame, "f_code", None)
        if event == "call" and code is not None and code.co_filename.startswith(prefix):
            name = code.co_qualname.partition(".<locals>")[0]
            called.add(f"ltocompat/{code.co_filename.removeprefix(prefix)}::{name}")

    start = time.perf_counter()
    sys.setprofile(seen)
    try:
        return (yield)
    finally:
        sys.setprofile(None)
        row = [item.nodeid, round(time.perf_counter() - start, 3), sorted(called)]
        path = Path(os.environ[RECORDED]) / f"{os.getpid()}.jsonl"
        if item.session.testsfailed == failed:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def _forget() -> None:
    """Empty the caches, which hide the calls that an earlier test of the process has made."""
    modules = [module for name, module in sys.modules.items() if name.startswith("ltocompat")]
    for value in [value for module in modules for value in vars(module).values()]:
        if callable(clear := getattr(value, "cache_clear", None)):
            clear()


def record(words: list[str], jobs: int) -> None:
    """Run tests, and write which of them call which functions; other files keep their rows."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, RECORDED: folder, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(jobs), "-p", "mutants"]
        subprocess.run([*command, *TIERS, *words], cwd=ROOT, env=environment, check=False)
        rows = dict[str, tuple[float, list[str]]]()
        for path in Path(folder).iterdir():
            for line in path.read_text("utf-8").splitlines():
                test, seconds, called = json.loads(line)
                rows[test.replace(str(ROOT), HERE)] = seconds, called
    if words and MAP.exists():
        again = {test.partition("::")[0] for test in rows}
        kept = json.loads(MAP.read_text("utf-8"))
        names = kept["functions"]
        for test, (seconds, numbers) in kept["tests"].items():
            if test.partition("::")[0] not in again:
                rows[test] = seconds, [names[number] for number in numbers]
    functions = {
        name: at for at, name in enumerate(sorted({f for _, c in rows.values() for f in c}))
    }
    tests = {
        test: (time, [functions[name] for name in called]) for test, (time, called) in rows.items()
    }
    MAP.parent.mkdir(parents=True, exist_ok=True)
    MAP.write_text(json.dumps({"functions": list(functions), "tests": tests}), "utf-8")


class Call(NamedTuple):
    """A test that calls a function, the time that it takes, and how many functions it calls."""

    seconds: float
    breadth: int
    test: str


def recorded() -> dict[str, list[Call]]:
    """The tests that call each function."""
    found = json.loads(MAP.read_text("utf-8"))
    calls = defaultdict[str, list[Call]](list)
    for test, (seconds, numbers) in found["tests"].items():
        for number in numbers:
            calls[found["functions"][number]].append(Call(seconds, len(numbers), test))
    return calls


class End(NamedTuple):
    """What became of a mutant, by which test, and after how many seconds.

    ``killed``: a test fails that passes without the change. ``endless``: a test still was in the
    changed function at the long limit. ``late``: neither was seen. ``survived``; ``not called``.
    """

    word: str
    by: str = ""
    seconds: float = 0


DEAD = ("killed", "endless")


def outcome(mutant: Mutant, tests: list[str], tree: Path, limit: float, *words: str) -> End:
    """Run tests on a tree with the change.

    A test that fails there without the change too says nothing of it.
    """
    path, start = tree / mutant.path, time.monotonic()
    left = [test.replace(HERE, str(tree)) for test in tests]
    source = path.read_text("utf-8")
    word, by = "not called", ""
    while left:
        path.write_text(mutant.applied(source), "utf-8")
        try:
            code, said = _run(left, tree, limit, *words)
        finally:
            path.write_text(source, "utf-8")
        if code is None:
            word = "endless" if words and _is_inside(mutant, said) else "late"
            break
        if not code:
            word = "survived"
            break
        failed, gone = _blamed(said, left, tree)
        if not (failed or gone) or (failed and not _run(failed, tree, None)[0]):
            word, by = "killed", failed[0].replace(str(tree), HERE) if failed else "its end"
            break
        left = [test for test in left if test not in {*failed, *gone}]
    return End(word, by, round(time.monotonic() - start, 1))


def _is_inside(mutant: Mutant, said: str) -> bool:
    """Return whether a traceback of what ran at the limit goes through the changed function."""
    name = re.escape(mutant.function.rpartition(".")[2])
    return re.search(rf'File ".*/{re.escape(mutant.path)}", line \d+ in {name}\b', said) is not None


def _blamed(said: str, tests: list[str], tree: Path) -> tuple[list[str], set[str]]:
    """The tests that failed, or whose file can't be collected, and those that pytest finds not."""
    names = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", said, re.MULTILINE)
    failed = [test for test in tests if test in names or test.partition("::")[0] in names]
    gone = re.findall(
        rf"^ERROR: (?:file or directory )?not found: (?:{re.escape(str(tree))}/)?(.*)$",
        *(said, re.MULTILINE),
    )
    return failed, {*gone}


def _run(tests: list[str], tree: Path, limit: float | None, *words: str) -> tuple[int | None, str]:
    """The exit code of pytest, None at the limit, and what it wrote."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *TIERS]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen(
            [*command, *words, *tests],
            cwd=tree,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,  # a mutant that kills its process group ends no other
        )
        code: int | None = None
        with suppress(subprocess.TimeoutExpired):
            code = process.wait(limit)
        if code is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(0)
        return code, said.read()


def _git(*words: str) -> str:
    command = ["git", *words]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def copies(number: int, folder: Path) -> SimpleQueue[Path]:
    """Trees of all files that Git doesn't ignore, one for each process that tries mutants."""
    files = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    trees: SimpleQueue[Path] = SimpleQueue()
    for at in range(number):
        for name in (name for name in files if os.path.lexists(ROOT / name) and name):
            target = folder / str(at) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
        trees.put(folder / str(at))
    return trees


def tried(
    mutants: list[Mutant], calls: dict[str, list[Call]], jobs: int, limit: float, long: float
) -> Iterator[tuple[Mutant, End]]:
    """What becomes of each mutant.

    All tests that call its function are run, the quickest first. If that takes too long, they are
    run again in all processes at once, those first that call the fewest other functions.
    """
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        trees = copies(jobs, Path(folder))

        def attempt(mutant: Mutant) -> End:
            tree = trees.get()
            try:
                tests = [call.test for call in sorted(_calls_of(mutant, calls))]
                return outcome(mutant, tests, tree, limit)
            finally:
                trees.put(tree)

        late = []
        for mutant, end in zip(mutants, pool.map(attempt, mutants), strict=True):
            if end.word == "late":
                late.append(mutant)
            else:
                yield mutant, end
        words = ("-n", str(jobs), "-o", f"faulthandler_timeout={long / 4:.0f}")
        tree = trees.get()
        for mutant in late:
            direct = sorted(_calls_of(mutant, calls), key=lambda call: (call.breadth, call))
            yield mutant, outcome(mutant, [call.test for call in direct], tree, long, *words)


def _calls_of(mutant: Mutant, calls: dict[str, list[Call]]) -> Collection[Call]:
    """The tests that call the function; where only forked processes do, those of its module."""
    if found := calls.get(f"{mutant.path}::{mutant.function}"):
        return found
    of_module = (found for name, found in calls.items() if name.startswith(f"{mutant.path}::"))
    return {*chain.from_iterable(of_module)}


def main() -> int:
    """Draw mutants, try each, and list those that no test noticed; 1 where too many live."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", default="")
    parser.add_argument("--room", choices=ROOMS, action="append")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=400)
    parser.add_argument("--long", type=float, default=1200)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    if given.record or not MAP.exists():
        record(given.words, given.jobs)
    seed = given.seed or _git("rev-parse", "HEAD").strip()
    mutants = draw(seed, given.number, tuple(given.room or ROOMS))
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    results = tried(mutants, recorded(), given.jobs, given.limit, given.long)
    for mutant, end in results:
        rooms[mutant.path.split("/")[1]][end.word] += 1
        if end.word not in DEAD or given.all:
            print(f"{end.word}: {mutant}" + f" ({end.seconds} s) {end.by}" * given.all, flush=True)
    for room, ends in rooms.items():
        print(f"{room}: {', '.join(f'{count} {end}' for end, count in sorted(ends.items()))}")
    dead = sum(ends[word] for ends in rooms.values() for word in DEAD)
    print(f"{dead} of {len(mutants)} mutants of {seed[:12]} died")
    return int(dead < 0.8 * len(mutants))


if __name__ == "__main__":
    sys.exit(main())
