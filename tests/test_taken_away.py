"""The table of limits, and its last rows: a check where the machine lacks something."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "benchmarks" / "limits.py"
PAGE = Path(__file__).parents[1] / "docs" / "limits.md"
ROWS = (
    "files and caches with dates in the year 2200",
    "a cache of another version",
    "no process can be started",
    "standard input closed",
    "all standard streams closed",
)
ROWS_OF_ROOT = ("no /proc", "nothing can be written")  # they mount file systems
AT_HAND = ROWS + (ROWS_OF_ROOT if sys.platform == "linux" and os.geteuid() == 0 else ())


def test_the_page_of_limits_has_numbers_in_each_cell() -> None:
    names = runpy.run_path(str(SCRIPT))["ROWS"]
    table = PAGE.read_text("utf-8").split("<!-- measured -->")[1].split("<!-- end -->")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[3:]]
    assert [(what, limit) for what, limit, *_ in rows] == [(row.what, row.limit) for row in names]
    assert all(float(number) >= 0 for row in rows for number in row[2:])


@pytest.mark.slow
def test_the_exit_code_is_the_same_without_it() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, *AT_HAND], capture_output=True, check=False, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    rows = {line.split("|")[1].strip(): line.split("|")[3] for line in done.stdout.splitlines()[2:]}
    assert rows == dict.fromkeys(AT_HAND, " 1 ")


def test_standard_input_that_the_disk_does_not_hold_is_one_sentence() -> None:
    command = [sys.executable, "-m", "ltocompat", "inspect", "-"]
    small_disk = ["sh", "-c", 'ulimit -f 1024; exec "$@"', "-", *command]  # in blocks of 512 bytes
    done = subprocess.run(small_disk, input=bytes(3 << 20), capture_output=True, check=False)
    assert done.returncode == 3
    (sentence,) = done.stderr.decode().splitlines()
    assert "File too large" in sentence
