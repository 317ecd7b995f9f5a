"""Files that verbs write are there whole, or not at all, and never stop the next run."""

from __future__ import annotations

import resource
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from samples import FOLDER

from ltocompat.cli import run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sets a limit of Unix")
TARGET = ("--deploy-target", "driver=580.65.06,gpu=a100")
WRITING = {
    "extract": ("extract", "x.fatbin", "-o", "out"),
    "slim": ("slim", "x.fatbin", "-o", "new.fatbin"),
    "init": ("init", "x.fatbin"),
    "save": ("env", "--save", "here.toml"),
    "baseline": ("audit", "x.fatbin", *TARGET, "--write-baseline", "known.json"),
    "format": ("check", "x.fatbin", *TARGET, "--format", "json=x.json"),
    "picture": ("matrix", "x.fatbin", "--svg", "x.svg"),
}


@contextmanager
def a_full_disk() -> Iterator[None]:
    """No byte gets into a file: what a full disk does, with another number of the error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", WRITING)
def test_a_full_disk_leaves_nothing_and_the_next_run_writes(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    shutil.copy(FOLDER / "fatbin/nvcc-13.2-none.fatbin", "x.fatbin")
    before = sorted(folder.rglob("*"))
    with a_full_disk():
        assert run(list(WRITING[name])) not in (0, 70)
    said = capsys.readouterr().err
    assert said.count("can't be written") == 1
    assert [path for path in sorted(folder.rglob("*")) if path.is_file()] == before
    assert run(list(WRITING[name])) in (0, 1)
    assert any(path.stat().st_size for path in folder.rglob("*") if path not in before)


def test_a_file_that_is_there_stays_as_it_is(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "here.toml").write_text("mine", "utf-8")
    assert run(list(WRITING["save"])) != 0
    assert "name a new file" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["here.toml"]
    assert (folder / "here.toml").read_text("utf-8") == "mine"
