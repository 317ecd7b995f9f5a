"""Forgiveness: what a baseline of one release lets pass in the next stood there, to that extent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
from packages_made import wheel
from small_worlds import files
from tiers import sampled

import ltocompat
from ltocompat.cli import run
from ltocompat.model.target import Gpu
from ltocompat.model.verdict import Result, Route, Verdict

PAIRS = 32
PART = 8
"""The quick tier tries one pair of releases in so many."""
FILES = files()
GPUS = ("sm_75", "sm_80", "sm_90", "sm_100")
TARGETS = (
    "driver=550.54.14",
    "driver=525.60.13,nvjitlink=12.0",
    "driver=580.65.06,nvjitlink=12.4",
    "driver=525|580,nvjitlink=12",
)

Extents = Mapping[tuple[str, Gpu | None, Route | None], tuple[Verdict, int]]


def release(folder: Path, version: str, draw: Random) -> Path:
    """A release: files of the same names, of which each may be another one than before."""
    folder = folder / version
    folder.mkdir()
    chosen = draw.sample(FILES, draw.randrange(1, 4))
    members = {f"libx/code{n}.bin": path.read_bytes() for n, path in enumerate(chosen)}
    return wheel(folder, members, version=version)


def extents(path: Path, target: str) -> Extents:
    """How bad it is: of each rule, GPU and route the worst verdict, and how many modules fail."""
    found: dict[tuple[str, Gpu | None, Route | None], tuple[Verdict, int]] = {}
    for result in ltocompat.check(path, target):
        for finding in _bad(result):
            key = (finding.rule, result.gpu, result.route)
            verdict, count = found.get(key, (finding.verdict, 0))
            found[key] = (max(verdict, finding.verdict), count + finding.module_count)
    return found


def _bad(result: Result) -> list[ltocompat.Finding]:
    return [each for each in result.findings if each.verdict >= Verdict.UNKNOWN]


def policy(folder: Path, target: str) -> str:
    path = folder / "ltocompat.toml"
    path.write_text(f'[targets]\nprod = "{target}"\n', encoding="utf-8")
    return str(path)


def holds(folder: Path, number: int) -> None:
    draw = Random(f"forgiveness {number}")  # noqa: S311 - what is drawn is no secret
    place = draw.choice(TARGETS)
    before, after = (draw.sample(GPUS, draw.randrange(1, 4)) for _ in range(2))
    old, new = (release(folder, version, draw) for version in ("1.0", "2.0"))
    for first, second in ((old, new), (old, old), (new, old)):
        for gpus, later in ((before, after), (before, before)):
            then, now = (f"{place},gpu={'+'.join(names)}" for names in (gpus, later))
            known = folder / "known.json"
            known.unlink(missing_ok=True)
            write = ["--write-baseline", str(known), "--config", policy(folder, then)]
            assert run(["audit", str(first), *write]) in (0, 3)
            again = ["audit", str(first), "--baseline", str(known), *write[2:], "--strict"]
            assert run(again) != 1, "it has all findings of its release, whatever counts"
            read = ["--baseline", str(known), "--config", policy(folder, now)]
            if run(["audit", str(second), *read]) == 0:
                stood = extents(first, then)
                for key, (verdict, count) in extents(second, now).items():
                    assert key in stood, (key, first.name, second.name, then, now)
                    assert verdict <= stood[key][0], key
                    assert count <= stood[key][1], key


@pytest.mark.parametrize("number", range(0, PAIRS, PART))
def test_a_baseline_forgives_what_stood_in_it(folder: Path, number: int) -> None:
    holds(folder, number)


@pytest.mark.slow
@pytest.mark.parametrize("number", sampled([n for n in range(PAIRS) if n % PART], 2))
def test_every_baseline_forgives_what_stood_in_it(folder: Path, number: int) -> None:
    holds(folder, number)
