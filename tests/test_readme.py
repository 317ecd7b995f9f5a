"""The README tells the truth: its commands run, and give what it shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import readme
from readme import Session

from ltocompat.cli import run

AT_ONCE = [session for session in readme.sessions() if not session.trial]
TRIALS = [session for session in readme.sessions() if session.trial]


@pytest.mark.parametrize("session", AT_ONCE, ids=lambda s: s.command)
def test_a_session_is_what_happens(session: Session) -> None:
    assert session.output() == session.shown


@pytest.mark.wild
@pytest.mark.parametrize("session", TRIALS, ids=lambda s: s.command)
def test_a_trial_is_what_happens(session: Session) -> None:
    assert session.output() == session.shown


def test_the_python_example_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", readme.README.read_text("utf-8"), re.DOTALL)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=readme.ROOT, capture_output=True, text=True, check=True)
    assert "sass sm_80 ptxas 13.5.37" in done.stdout


def test_ci_runs_the_very_test_command_of_the_readme() -> None:
    text = readme.README.read_text("utf-8")
    (command,) = [line.strip() for line in text.splitlines() if "pytest -n auto" in line]
    assert command in (readme.ROOT / ".ci" / "run").read_text("utf-8")


def test_every_verb_is_in_the_readme() -> None:
    import typer

    from ltocompat.cli import app

    text = readme.README.read_text("utf-8")
    assert all(f"`ltocompat {verb} " in text for verb in typer.main.get_group(app).commands)


def test_the_picture_is_what_matrix_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = readme.ROOT / "sample_artifacts"
    drawn = tmp_path / "matrix.svg"
    monkeypatch.chdir(samples)
    inputs = ["fatbin-ltoir/nvfatbin-12.9-of-12.9-lto_80.fatbin", "fatbin/nvcc-13.0-balance.fatbin"]
    assert run(["matrix", *inputs, "--svg", str(drawn)]) == 0
    assert drawn.read_text("utf-8") == (samples / "matrix.svg").read_text("utf-8")


def test_the_policy_to_paste_is_a_policy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```toml\n(.*?)```", readme.README.read_text("utf-8"), re.DOTALL)
    (policy,) = (block for block in blocks if "[tool.ltocompat" in block)
    (tmp_path / "pyproject.toml").write_text(policy, "utf-8")
    library = readme.ROOT / "sample_artifacts" / "objects" / "libsaxpy.so"
    config = ["--config", str(tmp_path / "pyproject.toml")]
    assert run(["audit", str(library), *config]) == 1
    assert "sm_90" in capsys.readouterr().out
