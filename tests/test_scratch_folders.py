"""Temporary folders: what a run that was killed left goes, and nothing of anybody else's does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ltocompat.files.output import scratch_folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no locks of folders")


def made(folder: Path, name: str, mode: int = 0o700) -> Path:
    path = folder / name
    path.mkdir()
    (path / "a").write_text("b")
    path.chmod(mode)
    os.utime(path, (0, 0))
    return path


def test_a_folder_that_a_killed_run_left_is_removed_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    others = [
        made(tmp_path, name)
        for name in ("ltocompat-0.1.0", "ltocompat-scratch", "ltocompat-scratch-of-mine-1")
    ]
    others.append(made(tmp_path, "ltocompat-scratch-abcdefgh", 0o755))
    left = made(tmp_path, "ltocompat-scratch-01234567")
    with scratch_folder() as folder:
        os.utime(folder, (0, 0))
        with scratch_folder():  # of another run, at the same time
            assert Path(folder).is_dir()
    assert not left.exists()
    assert all((other / "a").read_text() == "b" for other in others)
    assert len(list(tmp_path.iterdir())) == len(others)
