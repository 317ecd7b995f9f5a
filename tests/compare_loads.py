"""Holds verdicts against this machine's driver: by the rules, by trial loads, and without our code.

``python tests/compare_loads.py FOLDER`` on a machine with a GPU. All samples and, written into the
folder, made-up PTX, fatbins of relocatable PTX and (where there is a ptxas) relocatable cubins are
judged by the rules, tried alone and all at once, and loaded by ``plain_loads.py``; lazily, and
eagerly. Prints what was measured and what differs; the status is 1 where anything does.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from fatbin_writer import KINDS, EntrySpec, entry, region
from generated_ptx import FUNCTIONS, LINKAGES, VARIABLES, Program
from samples import ALL

import ltocompat
from ltocompat.commands.this_machine import ThisMachine
from ltocompat.model.verdict import Result, Verdict

_HERE = Path(__file__).parent
_FILES_BY_THEMSELVES = {".cubin", ".ptx", ".fatbin", ".ltoir"}
_MADE_UP = 120
_ALONE = 60
_AT_ONCE = os.cpu_count() or 1
_WORKS = Verdict.UNDOCUMENTED
# What can't be read, or contradicts itself, stays unknown whatever a driver makes of the rest.
_UNREAD = {"IMG-01", "IMG-02"}


def made_up(folder: Path, arch: str) -> Iterator[Path]:
    """Programs that define, call and miss each other's functions, in three sorts of file."""
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    chance = random.Random(1)  # noqa: S311 - the same programs each time
    for number in range(_MADE_UP):
        text = _program(chance).text()
        path = folder / f"{number}.ptx"
        path.write_text(text)
        yield path
        options = EntrySpec(
            KINDS["ptx"], text.encode(), 80, version=(8, 0), options="--compile-only"
        )
        fatbin = folder / f"{number}-relocatable.fatbin"
        fatbin.write_bytes(region([entry(options)]))
        yield fatbin
        if ptxas:
            cubin = folder / f"{number}-relocatable.cubin"
            subprocess.run([ptxas, "-c", f"-arch={arch}", path, "-o", cubin], check=True)
            yield cubin


def _program(chance: random.Random) -> Program:
    def calls() -> frozenset[str]:
        return frozenset(chance.sample(FUNCTIONS, chance.choice((0, 0, 1, 2))))

    defined = chance.sample(FUNCTIONS[:-1], chance.choice((0, 1, 2)))
    kernels = chance.sample(("ka", "kb", "kc"), chance.choice((0, 1, 1, 2)))
    variables = chance.sample(VARIABLES, chance.choice((0, 0, 1)))
    return Program(
        {name: (chance.choice(LINKAGES), calls()) for name in defined},
        {name: calls() for name in kernels},
        {name: chance.choice((*LINKAGES, ".extern ")) for name in variables},
        frozenset(chance.sample(FUNCTIONS, chance.choice((0, 1)))),
    )


def plain_answers(paths: Sequence[Path]) -> dict[str, int | None]:
    """The driver's code for each file; None where it took the process down."""
    codes: dict[str, int | None] = {}
    left = [str(path) for path in paths]
    while left:
        command = [sys.executable, str(_HERE / "plain_loads.py"), *left]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert rows, done.stderr
        codes |= {row["path"]: row["code"] for row in rows}
        left = [path for path in left if path not in codes]
    return codes


@dataclass(slots=True)
class Verdicts:
    """What was said of each file, and how long all took.

    Attributes:
        results: by path; a file has a result for each GPU.
        seconds: of the clock.
    """

    results: dict[str, list[Result]] = field(default_factory=dict)
    seconds: float = 0.0

    def worst(self, path: str) -> Verdict:
        return max(result.verdict for result in self.results[path])

    def rules(self, path: str) -> set[str]:
        return {finding.rule for each in self.results[path] for finding in each.findings}


def judged(machine: ThisMachine, paths: Sequence[Path], *, trial: bool) -> Verdicts:
    """All files in one call."""
    verdicts = Verdicts()
    start = time.monotonic()
    for result in ltocompat.check(
        paths, targets=[machine], route="load", trial_load=trial, on_error=print
    ):
        verdicts.results.setdefault(result.path, []).append(result)
    verdicts.seconds = time.monotonic() - start
    return verdicts


def alone(machine: ThisMachine, paths: Sequence[Path]) -> Verdicts:
    """Each file in a call of its own, which starts the driver anew."""
    verdicts = Verdicts()
    start = time.monotonic()
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for found in threads.map(lambda path: judged(machine, [path], trial=True), paths):
            verdicts.results |= found.results
    verdicts.seconds = time.monotonic() - start
    return verdicts


def same(first: list[Result], second: list[Result]) -> bool:
    def row(result: Result) -> tuple[object, ...]:
        found = sorted((finding.rule, finding.message) for finding in result.findings)
        return result.gpu, result.verdict, result.coverage, found

    return list(map(row, first)) == list(map(row, second))


def differences(
    paths: Sequence[Path], rules: Verdicts, trial: Verdicts, codes: dict[str, int | None]
) -> Iterator[str]:
    """Sentences about files on which two of the three disagree."""
    for path in map(str, paths):
        if path in rules.results:
            static, tried = rules.worst(path), trial.worst(path)
            if "TRIAL-DISAGREES" in trial.rules(path) or static not in {Verdict.UNKNOWN, tried}:
                yield f"{path}: rules {static}, trial {tried}: {_of_trial(trial.results[path])}"
            code = codes.get(path)
            if code is not None and _contradicts(static, code):
                yield f"{path}: rules {static} {sorted(rules.rules(path))}, plain load {code}"
            open_ = tried is Verdict.UNKNOWN and not _UNREAD & trial.rules(path)
            if code is not None and (open_ or _contradicts(tried, code)):
                yield f"{path}: trial {tried} {sorted(trial.rules(path))}, plain load {code}"


def _contradicts(verdict: Verdict, code: int) -> bool:
    return verdict is not Verdict.UNKNOWN and (verdict <= _WORKS) != (code == 0)


def _of_trial(results: Sequence[Result]) -> list[str]:
    return [f.message for result in results for f in result.findings if f.rule.startswith("TRIAL")]


def compared(machine: ThisMachine, paths: Sequence[Path], loading: str) -> list[str]:
    """Measure one way of loading; what differs."""
    os.environ["CUDA_MODULE_LOADING"] = loading
    rules = judged(machine, paths, trial=False)
    trial = judged(machine, paths, trial=True)
    single = [
        path
        for path in paths
        if path.suffix in _FILES_BY_THEMSELVES
        and str(path) in rules.results
        and rules.results[str(path)][0].coverage.modules == 1
    ]
    codes = plain_answers(single)
    found = list(differences(paths, rules, trial, codes))
    files = len(rules.results)
    cost = (trial.seconds - rules.seconds) / files
    print(f"{loading}: {files} files, {len(single)} of them loaded plainly")
    print(f"  rules {Counter(str(rules.worst(path)) for path in rules.results)}")
    print(f"  trial {Counter(str(trial.worst(path)) for path in trial.results)}")
    print(f"  plain {Counter(codes.values())}")
    print(f"  unknown by the rules: {_by_reason(rules)}")
    print(
        f"  rules alone {rules.seconds:.1f} s, with trials {trial.seconds:.1f} s: a trial load",
        end="",
    )
    print(f" costs {1000 * cost:.1f} ms a file")
    if loading == "LAZY":
        apart = alone(machine, paths[: len(ALL) + _ALONE])
        print(f"  each alone {apart.seconds:.1f} s, {_AT_ONCE} at a time")
        found += [
            f"{path}: alone {apart.worst(path)}, all at once {trial.worst(path)}"
            for path in apart.results
            if not same(trial.results[path], apart.results[path])
        ]
    return found


def _by_reason(rules: Verdicts) -> Counter[str]:
    return Counter(
        finding.rule
        for path in rules.results
        if rules.worst(path) is Verdict.UNKNOWN
        for result in rules.results[path]
        for finding in result.findings
        if finding.verdict is Verdict.UNKNOWN
    )


def main() -> int:
    """Measure both ways of loading."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    machine = ThisMachine.now(None)
    target = machine.target
    (arch, *_) = (str(gpu.arch) for gpu in target.gpus)
    driver = target.driver and target.driver.text
    print(f"driver {driver}, GPUs {[gpu.name for gpu in target.gpus]}, {arch}")
    paths = [sample.path for sample in ALL] + list(made_up(folder, arch))
    found = [line for loading in ("LAZY", "EAGER") for line in compared(machine, paths, loading)]
    print(f"{len(found)} differences")
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
