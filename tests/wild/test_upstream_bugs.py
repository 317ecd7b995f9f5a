"""Bugs that projects settled: red with the settled cause before the fix, and green after it.

tests/data/upstream_bugs.toml tells which releases, by which thread, and what was expected before
the first run. Where the answer is another, it has the answer, and the reason.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import wheels

from ltocompat.cli import run

pytestmark = pytest.mark.wild

BUGS = tomllib.loads((Path(__file__).parents[1] / "data/upstream_bugs.toml").read_text("utf-8"))


@dataclass(frozen=True)
class Answer:
    """An exit code, and the rules above a note whose finding speaks of the settled cause."""

    exit_code: int
    named: tuple[str, ...]


def wheel_of(bug: dict[str, Any], release: str) -> Path:
    """The wheel of a release for Linux, downloaded by pip where it isn't there yet."""
    machine = bug.get("machine", "x86_64")
    folder = wheels.CACHE / f"{bug['package']}-{release}-{machine}"
    if not list(folder.glob("*.whl")):
        minors = (*range(17, 18), *range(24, 36))
        tags = [f"--platform=manylinux_2_{minor}_{machine}" for minor in minors]
        old = [f"--platform=manylinux{year}_{machine}" for year in ("2014", "1")]
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        for python in ("3.12", "3.11"):
            asked = [*pip, *tags, *old, f"--python-version={python}", "-d", str(folder)]
            if not subprocess.run([*asked, f"{bug['package']}=={release}"], check=False).returncode:
                break
    (path,) = folder.glob("*.whl")
    return path


def findings(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Findings of all results."""
    return [found for result in results for found in result["findings"]]


def answer(
    bug: dict[str, Any], path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> Answer:
    beside = folder / "requirements.txt"
    beside.write_text("\n".join(bug.get("beside", ())))
    words = [word.format(wheel=path, beside=beside) for word in bug["command"].split()]
    exit_code = run([*words, "--format=json"])
    told = findings(json.loads(capsys.readouterr().out)["results"])
    named = {
        found["rule"]
        for found in told
        if found.get("verdict") not in {None, "ok"} or found.get("level") == "warning"
        if re.search(bug["names"], json.dumps(found))
    }
    return Answer(exit_code, tuple(sorted(named)))


@pytest.mark.parametrize(
    "bug", BUGS["bug"], ids=lambda bug: f"{bug['package']}-{bug['before']}-{bug['after']}"
)
def test_a_settled_bug_is_red_before_and_green_after(
    bug: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = answer(bug, wheel_of(bug, bug["before"]), tmp_path, capsys)
    after = answer(bug, wheel_of(bug, bug["after"]), tmp_path, capsys)
    found = bug.get("found", {})
    told = set(found.get("rules", bug["rules"])) & set(before.named)
    assert (before.exit_code != 0 and bool(told)) is found.get("red", bug.get("bytes", True))
    assert (after.exit_code == 0) is found.get("green", True)


@pytest.mark.parametrize("row", BUGS["quiet"], ids=lambda row: f"{row['package']}-{row['release']}")
def test_a_release_that_works_is_quiet(row: dict[str, Any], tmp_path: Path) -> None:
    words = ["audit", str(wheel_of(row, row["release"]))]
    if "beside" in row:
        beside = tmp_path / "requirements.txt"
        beside.write_text("\n".join(row["beside"]))
        words += ["--with", str(beside)]
    assert run([*words, "-q"]) == 0


def test_an_answer_that_was_not_expected_has_its_reason() -> None:
    assert [bug for bug in BUGS["bug"] if ("found" in bug) != ("because" in bug)] == []


def test_thirty_bugs_at_most_ten_of_architectures() -> None:
    kinds = [bug.get("kind") for bug in BUGS["bug"]]
    assert len(kinds) == 30
    assert kinds.count("architecture") <= 10
