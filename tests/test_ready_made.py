"""What is ready-made for others' projects: the action, the hooks and the completion of shells."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import readme
from kernels_project import Project
from packages_made import wheel

from ltocompat.cli import run

ROOT = Path(__file__).parent.parent
ACTION = ROOT / ".github" / "actions" / "ltocompat" / "action.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
BASH = shutil.which("bash") or ""
needs_bash = pytest.mark.skipif(not BASH, reason="needs bash")


def script() -> str:
    """The shell script of the action's last step."""
    _, _, text = ACTION.read_text("utf-8").rpartition("run: |\n")
    return "".join(f"{line.removeprefix(' ' * 8)}\n" for line in text.splitlines())


def act(project: Project, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run that step as a runner does: bash -e, inputs by the environment."""
    command = project.folder / "ltocompat"
    command.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m ltocompat "$@"\n', "utf-8"
    )
    command.chmod(0o755)
    names = ("PATHS", "CONFIG", "BASELINE", "SARIF", "HTML", "INSTALL")
    environ = {**os.environ, **dict.fromkeys(names, ""), **inputs, "LTOCOMPAT": str(command)}
    environ["PYTHONPATH"] = str(ROOT)
    environ["GITHUB_STEP_SUMMARY"] = str(project.folder / "summary.md")
    return subprocess.run(
        [BASH, "--noprofile", "--norc", "-eo", "pipefail", "-c", script()],
        cwd=project.folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


@needs_bash
def test_the_action_passes_and_fails_with_the_audit(tmp_path: Path) -> None:
    project = Project.copy(tmp_path / "my kernels")
    path = project.build()
    done = act(project)
    assert (done.returncode, done.stderr) == (0, "")
    del project.code["sm_90.cubin"]
    project.build()
    done = act(
        project, PATHS=f"{path}\n", SARIF="a b.sarif", HTML="x.html", CONFIG="pyproject.toml"
    )
    assert done.returncode == 1, done.stderr
    assert "::error file=" in done.stdout
    assert "title=POL-01%3A Required architecture missing" in done.stdout
    assert (project.folder / "a b.sarif").is_file()
    assert (project.folder / "x.html").is_file()
    assert "## ltocompat\n\naudit failed: " in (project.folder / "summary.md").read_text("utf-8")


@needs_bash
def test_inputs_of_the_action_are_never_code(tmp_path: Path) -> None:
    """Whoever names a file of a pull request must not run commands by it."""
    project = Project.copy(tmp_path / "kernels")
    project.build()
    done = act(project, PATHS="$(touch evil)\n; touch evil", CONFIG="`touch evil`")
    assert done.returncode != 0
    assert not (project.folder / "evil").exists()
    shell = re.findall(r"run: \|\n((?: {8}.*\n)+)", ACTION.read_text("utf-8"))
    assert len(shell) == 2
    assert not any("${{" in text for text in shell)


def test_the_hooks_run_a_verb_that_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = HOOKS.read_text("utf-8")
    entries = re.findall(r"entry: (.*)", text)
    assert len(entries) == text.count("- id: ") == 2
    Project.copy(tmp_path / "kernels").build()
    monkeypatch.chdir(tmp_path / "kernels")
    for entry in entries:
        name, *words = shlex.split(entry)
        assert name == "ltocompat"
        assert run(words) == 0
    assert capsys.readouterr().out.count("audit passed") == 2


def test_the_hooks_pass_where_there_is_nothing_to_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without dist, with an empty one, and on files without device code; with a policy or none."""
    dist, files = (
        shlex.split(value)[1:] for value in re.findall(r"entry: (.*)", HOOKS.read_text())
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "libcpu.so").write_bytes(b"no device code")
    wheel(tmp_path, {"x/libcpu.so": b"no device code"})
    cpu_only = ["libcpu.so", *(path.name for path in tmp_path.glob("*.whl"))]
    for policy in ("", readme.policy()):
        (tmp_path / "pyproject.toml").write_text(policy, "utf-8")
        shutil.rmtree(tmp_path / "dist", ignore_errors=True)
        assert run(dist) == 0
        (tmp_path / "dist").mkdir()
        assert run(dist) == 0
        assert run([*files, *cpu_only]) == 0
        shutil.copy(tmp_path / cpu_only[1], tmp_path / "dist")
        assert run(dist) == 0
        assert capsys.readouterr().out.count("audit passed: there is no device code; ") == 4


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("a.whl", True),
        ("lib/libx.so", True),
        ("lib/libx.so.12.4", True),
        ("x.conda", True),
        ("k.ptx", True),
        ("x.sound", False),
        ("notes.also", False),
    ],
)
def test_the_hook_for_files_takes_what_holds_device_code(name: str, taken: bool) -> None:
    (pattern,) = re.findall(r"files: (.*)", HOOKS.read_text("utf-8"))
    assert bool(re.search(pattern, name)) is taken


@pytest.mark.parametrize("typed", ["au", "audit --fo", "audit --format sa"])
def test_a_shell_completes_the_verb_its_options_and_formats(typed: str) -> None:
    environ = {
        **os.environ,
        "_LTOCOMPAT_COMPLETE": "complete_bash",
        "COMP_WORDS": f"ltocompat {typed}",
        "COMP_CWORD": str(len(typed.split())),
    }
    code = "import sys; sys.argv[0] = 'ltocompat'; from ltocompat.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environ,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    wanted = {"au": "audit", "audit --fo": "--format", "audit --format sa": "sarif"}
    assert wanted[typed] in done.stdout.split(), done
