"""Released wheels: check and audit answer what the bytes and the metadata of each say.

tests/data/wild_wheels.toml tells what was expected before the first run, and by which evidence;
where the answer is another, it tells who is right.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import wheels
from packaging.tags import compatible_tags, cpython_tags

from ltocompat.cli import run

pytestmark = pytest.mark.wild

LIST = tomllib.loads((Path(__file__).parents[1] / "data/wild_wheels.toml").read_text("utf-8"))
TARGETS: dict[str, str] = LIST["targets"]
SMALL_FIRST = sorted(LIST["wheel"], key=lambda entry: entry["megabytes"])
ORDER = ("ok", "jit", "undocumented", "unknown", "fail")
GLIBC = (5, 12, 17, 24, 26, 27, 28, 31, 34, 35, 39)


def _linux(machine: str) -> list[str]:
    new = [f"manylinux_2_{minor}_{machine}" for minor in GLIBC]
    return [*new, *(f"manylinux{year}_{machine}" for year in ("2014", "2010", "1"))]


TAGS = {
    "linux-x86_64": _linux("x86_64"),
    "linux-aarch64": _linux("aarch64"),
    "windows-x86_64": ["win_amd64"],
}


@dataclass(frozen=True)
class Answer:
    """The worst verdict of each target that something was judged for, and that of audit."""

    check: dict[str, str]
    audit: str


def wheel_of(entry: dict[str, Any]) -> Path:
    """The wheel, downloaded by pip where it isn't there yet.

    Another list may have another Python's wheel of this release there.
    """
    name = f"{entry['requirement'].replace('==', '-')}-{entry['platform']}"
    folder = wheels.CACHE / name
    if not any(is_for(entry["python"], wheel) for wheel in folder.glob("*.whl")):
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        tags = [f"--platform={tag}" for tag in TAGS[entry["platform"]]]
        python = f"--python-version={entry['python']}"
        command = [*pip, *tags, python, entry["requirement"], "-d", str(folder)]
        subprocess.run(command, check=True)
    (path,) = (wheel for wheel in folder.glob("*.whl") if is_for(entry["python"], wheel))
    return path


def is_for(python: str, wheel: Path) -> bool:
    """Return whether an interpreter of this version takes a wheel, whatever its platform."""
    major, minor = map(int, python.split("."))
    taken = (
        *cpython_tags((major, minor), platforms=["any"]),
        *compatible_tags((major, minor), platforms=["any"]),
    )
    pairs = {(tag.interpreter, tag.abi) for tag in taken}
    interpreters, abis = (part.split(".") for part in wheel.stem.split("-")[-3:-1])
    return not pairs.isdisjoint(product(interpreters, abis))


def worst(verdicts: list[str]) -> str:
    return max(verdicts, key=ORDER.index)


def answer(path: Path, capsys: pytest.CaptureFixture[str]) -> Answer:
    """What check says for each target, and audit for any."""
    asked = [f"--deploy-target={text}" for text in TARGETS.values()]
    run(["check", str(path), *asked, "--format=json"])
    results = json.loads(capsys.readouterr().out)["results"]
    by_target = {
        name: [row["verdict"] for row in results if row["target"] == text]
        for name, text in TARGETS.items()
    }
    run(["audit", str(path), "--format=json"])
    held = [row["verdict"] for row in json.loads(capsys.readouterr().out)["results"]]
    checked = {name: worst(rows) for name, rows in by_target.items() if rows}
    return Answer(checked, worst(held) if held else "ok")


@pytest.mark.parametrize(
    "entry", SMALL_FIRST, ids=lambda entry: f"{entry['requirement']}-{entry['platform']}"
)
def test_a_released_wheel_is_judged_by_what_it_holds(
    entry: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    expected = entry["expected"] | entry.get("found", {})
    assert answer(wheel_of(entry), capsys) == Answer(expected["check"], expected["audit"])


def test_an_answer_that_was_not_expected_has_its_reason() -> None:
    odd = [entry for entry in LIST["wheel"] if ("found" in entry) != ("because" in entry)]
    assert odd == []
