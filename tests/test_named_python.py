"""The Python that a user names: run wherever it lies, and this tool beside it is not checked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from report_values import valid_json
from samples import FOLDER

import ltocompat
from ltocompat.cli import run
from ltocompat.targets.linkers import Machine

Captured = pytest.CaptureFixture[str]
CUBIN = FOLDER / "cubin" / "nvrtc-13.0-sm_90.cubin"
GOAL = ["--deploy-target", "driver=580.95.05,gpu=h100"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder that is current, with an environment in it, below one that all may write."""
    folder = tmp_path / "open to all" / "project"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o1777)
    make = [sys.executable, "-m", "venv", "--without-pip", str(folder / ".venv")]
    subprocess.run(make, check=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    return folder


def site_of(project: Path) -> Path:
    (site,) = project.glob(".venv/lib/python*/site-packages")
    return site


def checked(capsys: Captured, *words: str) -> list[str]:
    """The files whose verdicts are given."""
    run(["check", *words, "--format", "json"])
    results = valid_json(capsys.readouterr().out)["results"]
    return [result["path"] for result in results if result["path"] != "this-machine"]


def test_a_named_python_is_run_wherever_it_lies(project: Path, capsys: Captured) -> None:
    shutil.copy(CUBIN, site_of(project))
    file = [str(site_of(project) / CUBIN.name)]
    inside = os.path.join(".venv", "bin", "python")
    for name in (inside, f".{os.sep}{inside}", str(project / inside)):
        assert checked(capsys, "--python", name, *GOAL) == file
        assert checked(capsys, "--python", name) == file


def test_a_name_alone_is_looked_up_as_a_shell_does(
    project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(CUBIN, site_of(project))
    for name in ("python", "python9"):
        planted = project / name
        planted.write_text(f"#!/bin/sh\ntouch {project}/planted\n")
        planted.chmod(0o755)
    folders = [".", str(project / ".venv" / "bin"), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    assert checked(capsys, "--python", "python", *GOAL) == [str(site_of(project) / CUBIN.name)]
    assert run(["check", "--python", "python9", *GOAL]) == 2
    assert "'python9' does not run as Python" in capsys.readouterr().err
    assert not (project / "planted").exists()


def test_what_nobody_named_is_not_run_in_the_current_folder(project: Path) -> None:
    python = str(project / ".venv" / "bin" / "python")
    machine = Machine.here()
    command = [python, "-c", "print(1)"]
    assert machine.run(command) == ""
    assert machine.running(python).run(command).strip() == "1"
    other = [str(project / ".venv" / "bin" / "python3"), *command[1:]]
    assert machine.running(python).run(other) == ""


def test_an_active_environment_is_judged_on_a_named_target(
    project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(CUBIN, site_of(project))
    monkeypatch.setenv("VIRTUAL_ENV", str(project / ".venv"))
    assert checked(capsys, *GOAL) == [str(site_of(project) / CUBIN.name)]


def test_this_tool_in_an_environment_is_not_judged(project: Path, capsys: Captured) -> None:
    inside = os.path.join(".venv", "bin", "python")
    site = site_of(project)
    shutil.copytree(Path(ltocompat.__file__).parent, site / "ltocompat")
    assert run(["check", "--python", inside, *GOAL]) == 3
    assert "there is no device code" in capsys.readouterr().err
    (site / "other" / "ltocompat").mkdir(parents=True)
    shutil.copy(CUBIN, site / "other" / "ltocompat")
    assert checked(capsys, "--python", inside, *GOAL) == [
        str(site / "other" / "ltocompat" / CUBIN.name)
    ]
