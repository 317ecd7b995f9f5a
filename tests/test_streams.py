"""Standard streams that are closed or full: a lost answer is told, and nothing is a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from samples import FOLDER

FATBIN = str(FOLDER / "fatbin" / "nvfatbin-13.5-sm_90a.fatbin")
GONE = ["check", "gone.so", "--deploy-target", "R550,h100"]
FAILS = ["check", FATBIN, "--deploy-target", "R450,h100"]


def shell(words: list[str], redirection: str) -> subprocess.CompletedProcess[str]:
    line = f'"$0" -m ltocompat "$@" {redirection}'
    command = ["sh", "-c", line, sys.executable, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "words", [["inspect", FATBIN], ["--help"], ["inspect", FATBIN, "--format", "json"]]
)
def test_a_full_disk_is_told_in_one_sentence(words: list[str]) -> None:
    done = shell(words, ">/dev/full")
    assert done.returncode == 3
    assert done.stderr == (
        "ltocompat: standard output can't be written (No space left on device); make room, or name "
        "a file\n"
    )


def test_an_answer_that_is_thrown_away_is_one() -> None:
    assert shell(["inspect", FATBIN], ">/dev/null").returncode == 0


VERBS = (
    *(["inspect", FATBIN], ["inspect", FATBIN, "--format", "json"], ["require", FATBIN]),
    *(["check", FATBIN, "--deploy-target", "R580,h100"], ["audit", FATBIN], ["matrix", FATBIN]),
    *(["diff", FATBIN, FATBIN], ["explain", "PTX-01"], ["env"], ["targets"], ["linkers", "list"]),
    *(["schema", "inspect"], ["--help"], ["check", "--help"], ["--version"]),
)


@pytest.mark.parametrize(
    "words",
    [pytest.param(words, marks=pytest.mark.slow if i % 3 else ()) for i, words in enumerate(VERBS)],
)
def test_an_answer_that_goes_nowhere_is_no_success(words: list[str]) -> None:
    done = shell(words, ">&-")
    assert done.returncode == 3
    (sentence,) = done.stderr.splitlines()
    assert "standard output can't be written" in sentence
    line = '("$0" -m ltocompat "$@"; echo $? >&2) | true'
    command = ["sh", "-c", line, sys.executable, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == "141\n"


@pytest.mark.parametrize("end", ["=/dev/stderr 2>&- >/dev/null", "=/dev/stdout >&-", "=/dev/full"])
def test_a_report_that_goes_nowhere_is_no_success(end: str) -> None:
    assert shell(["inspect", FATBIN], f"--format json{end}").returncode == 3


ENDS = ((GONE, 3), (FAILS, 1), (["inspect", FATBIN], 0), (["chekc"], 2))
REDIRECTIONS = ("2>&-", ">&-", "<&- >&- 2>&-", "2>/dev/full")


@pytest.mark.parametrize(
    ("words", "code", "redirection"),
    [
        pytest.param(*end, redirection, marks=() if row == column else pytest.mark.slow)
        for row, end in enumerate(ENDS)
        for column, redirection in enumerate(REDIRECTIONS)
    ],
)
def test_a_stream_that_takes_nothing_changes_no_other_exit_code(
    words: list[str], code: int, redirection: str
) -> None:
    done = shell(words, redirection)
    assert done.returncode == (code or (3 if ">&-" in redirection.replace("2>&-", "") else 0))
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_ends_the_run_quietly() -> None:
    done = shell(["inspect", "--images", str(FOLDER / "fatbin")], "| true; exit 0")
    assert (done.returncode, done.stderr) == (0, "")


def test_no_room_for_what_comes_through_a_pipe_is_told_in_one_sentence() -> None:
    # -B: Python would leave the half of a compiled module that still finds room.
    line = 'ulimit -f 8; head -c 1000000 /dev/zero | "$0" -B -m ltocompat inspect -'
    command = ["sh", "-c", line, sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    (sentence,) = done.stderr.splitlines()
    assert "the input can't be kept in" in sentence
    assert "set TMPDIR to a folder with more room" in sentence


def test_a_pipe_that_does_not_wait_loses_nothing() -> None:
    words = ["matrix", str(FOLDER / "fatbin" / "nvfatbin-13.5-sm_90a.fatbin"), "--format", "json"]
    whole = shell(words, "").stdout
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    command = [sys.executable, "-m", "ltocompat", *words]
    with subprocess.Popen(command, stdout=writer) as child, os.fdopen(reader) as answer:
        os.close(writer)
        time.sleep(1)  # for the pipe to fill
        assert answer.read() == whole
    assert child.returncode == 0


@pytest.mark.parametrize("words", [["audit"], ["inspect", "."], ["inspect", FATBIN]])
def test_a_current_folder_that_is_gone_is_told_in_one_sentence(
    words: list[str], tmp_path: Path
) -> None:
    line = f"mkdir {tmp_path}/x; cd {tmp_path}/x; rmdir ../x; "
    command = ["sh", "-c", f'{line} exec "$@"', "-", sys.executable, "-m", "ltocompat", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if FATBIN in words:
        assert (done.returncode, done.stderr) == (0, "")
    else:
        assert done.returncode == 3
        assert done.stderr == (
            "ltocompat: the current folder was deleted; change to an existing folder\n"
        )
