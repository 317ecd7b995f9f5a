"""A check answers as ever where the machine lacks something: rows of ``benchmarks/limits.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "benchmarks" / "limits.py"
ROWS = (
    "files and caches of the year 2200",
    "a cache of another version",
    "no process can be started",
    "standard input closed",
    "all standard streams closed",
)
ROWS_OF_ROOT = ("no /proc", "nothing can be written")  # they mount file systems
AT_HAND = ROWS + (ROWS_OF_ROOT if sys.platform == "linux" and os.geteuid() == 0 else ())


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
