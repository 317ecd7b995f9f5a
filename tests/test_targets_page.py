"""docs/targets.md tells the truth: each example of a key and each value without one is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ltocompat.targets import parse
from ltocompat.targets.inline import KEYS

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "targets.md").read_text("utf-8")
ROWS = re.findall(r"^\| (`[^|]*) \|[^|]*\| ([^|]*) \|$", PAGE, re.MULTILINE)
EXAMPLES = [text for _, cell in ROWS for text in re.findall(r"`([^`]+)`", cell)]
COMMANDS = re.findall(r"--deploy-target (\S+)", PAGE)


def test_every_key_has_a_row() -> None:
    assert {key for cell, _ in ROWS for key in re.findall(r"`(\w+)`", cell)} == {*KEYS, "cuda"}


@pytest.mark.parametrize("text", sorted({*EXAMPLES, *COMMANDS}))
def test_an_example_is_a_target(text: str) -> None:
    lock = ROOT / "tests" / "data" / "locks" / "by_system"
    if text.startswith(("name=", "python=")):
        text += ",driver=550"
    assert parse([text.replace("lock=", "lock=./")], where=str(lock))


def test_the_line_in_a_file_is_a_target(tmp_path: Path) -> None:
    (line,) = re.findall(r"`(edge = .*?)` under", PAGE)
    (tmp_path / "ltocompat.toml").write_text(f"[targets]\n{line}\n")
    (target,) = parse(["edge"], where=str(tmp_path))
    assert [gpu.name for gpu in target.gpus] == ["t4"]
