"""What is ready-made for others' projects: the action, the hooks and the completion of shells."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import readme
import yaml
from kernels_project import Project
from packages_made import wheel
from samples import FOLDER

from ltocompat.cli import main, run
from ltocompat.model.version import VERSION

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
    names = re.findall(r"\n        ([A-Z_]+): \$\{\{ inputs\.", ACTION.read_text("utf-8"))
    output = project.folder / "output.txt"
    output.unlink(missing_ok=True)
    environ = {**os.environ, **dict.fromkeys(names, ""), **inputs, "LTOCOMPAT": str(command)}
    environ["PYTHONPATH"] = str(ROOT)
    environ["GITHUB_OUTPUT"] = str(output)
    environ["GITHUB_STEP_SUMMARY"] = str(project.folder / "summary.md")
    return subprocess.run(
        [BASH, "--noprofile", "--norc", "-eo", "pipefail", "-c", script()],
        cwd=project.folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
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


_YAML = [
    yaml.safe_load(text)
    for page in (readme.README, readme.CI)
    for text in re.findall(
        r"^```yaml\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
]
_STEPS = [
    step["with"]
    for block in _YAML
    for step in block.get("steps", ())
    if "ltocompat" in step["uses"]
]
_REPOS = [hook for block in _YAML for repo in block.get("repos", ()) for hook in repo["hooks"]]


@needs_bash
@pytest.mark.slow
@pytest.mark.parametrize("inputs", _STEPS, ids=str)
def test_the_step_on_a_page_runs(inputs: dict[str, object], tmp_path: Path) -> None:
    names = dict(
        re.findall(r"\n        ([A-Z_]+): \$\{\{ inputs\.([a-z-]+)", ACTION.read_text("utf-8"))
    )
    of_input = {value: name for name, value in names.items()}
    given = {of_input[key]: str(value) for key, value in inputs.items() if key != "install-linkers"}
    assert {*inputs} <= {*yaml.safe_load(ACTION.read_text("utf-8"))["inputs"]}
    project = Project.copy(tmp_path / "kernels")
    project.build()
    done = act(project, **given)
    assert done.returncode == ("ARCHS" in given), done.stderr
    assert all((project.folder / given[key]).is_file() for key in ("SARIF", "HTML") if key in given)


@pytest.mark.parametrize("hook", _REPOS, ids=lambda hook: " ".join(hook["args"]))
def test_the_hook_on_a_page_runs(
    hook: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = {each["id"]: each for each in yaml.safe_load(HOOKS.read_text("utf-8"))}
    Project.copy(tmp_path / "kernels").build()
    monkeypatch.chdir(tmp_path / "kernels")
    words = shlex.split(hooks[hook["id"]]["entry"])[4:]
    given = [word for word in hook["args"] if word != "--install-linkers"]
    assert run([*words, *given]) == bool(given)  # there is no PTX for 9.0


def test_the_job_on_a_page_extends_the_template() -> None:
    (job,) = (block["audit-cuda"] for block in _YAML if "include" in block)
    template = yaml.safe_load((ROOT / "templates" / "ltocompat.gitlab-ci.yml").read_text("utf-8"))
    assert job["extends"] in template


def outputs(project: Project) -> dict[str, str]:
    lines = (project.folder / "output.txt").read_text("utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines)


@needs_bash
@pytest.mark.parametrize(
    ("pattern", "args", "code", "outcome"),
    [
        ("dist/*-1.[01]-*.whl", "--strict --no-cache", 0, "passed"),
        pytest.param("dist/*.conda", "", 2, "error", marks=pytest.mark.slow),
        pytest.param("dist/*.conda", "--allow-empty", 0, "passed", marks=pytest.mark.slow),
    ],
)
def test_the_action_expands_patterns_and_says_how_it_ended(
    pattern: str, args: str, code: int, outcome: str, tmp_path: Path
) -> None:
    project = Project.copy(tmp_path / "my kernels")
    project.build()
    project.build("1.1")
    done = act(project, PATHS=pattern, ARGS=args)
    assert done.returncode == code, done.stderr
    assert outputs(project) == {"outcome": outcome, "exit-code": str(code)}


@needs_bash
@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"ARCHS": "8.0+PTX", "TARGETS": "R580\ndriver=580.95.05\n", "MOST": "1 MB"}, 0),
        ({"ARCHS": "80;90-real"}, 1),
        ({"MOST": "1kB"}, 1),
    ],
)
def test_the_action_needs_no_policy(inputs: dict[str, str], code: int, tmp_path: Path) -> None:
    project = Project.copy(tmp_path / "kernels")
    (project.folder / "pyproject.toml").unlink()
    path = Path(shutil.copy(FOLDER / "fatbin" / "nvcc-13.0-none.fatbin", project.folder))
    done = act(project, PATHS=path.name, **inputs)
    assert done.returncode == code, done.stdout + done.stderr


@needs_bash
def test_the_action_ends_undecided_where_nobody_knows(tmp_path: Path) -> None:
    project = Project.copy(tmp_path / "kernels")
    (project.folder / "cpu.bin").write_bytes(b"no device code")
    assert act(project, PATHS="cpu.bin").returncode == 3
    assert outputs(project)["outcome"] == "undecided"


def test_what_was_built_is_looked_for_beside_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project.copy(tmp_path / "kernels")
    project.build()
    monkeypatch.chdir(project.folder / "kernels")
    assert run(["audit"]) == 0
    assert "; policy ../pyproject.toml; " in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    assert run(["audit", "--config", "kernels/pyproject.toml"]) == 0


@needs_bash
def test_the_job_for_gitlab_runs_a_verb_that_there_is_and_keeps_what_it_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = yaml.safe_load((ROOT / "templates" / "ltocompat.gitlab-ci.yml").read_text("utf-8"))
    ((name, keys),) = job.items()
    assert name.startswith(".")  # hidden: a template that others extend
    pins = keys["variables"].pop("LTOCOMPAT_PINS")
    assert pins == (ACTION.parent / "requirements.txt").read_text("utf-8")
    assert keys["variables"]["LTOCOMPAT_RELEASE"] == VERSION
    (line,) = keys["script"]
    Project.copy(tmp_path / "kernels").build()
    monkeypatch.chdir(tmp_path / "kernels")
    for variable, value in keys["variables"].items():
        monkeypatch.setenv(variable, value)
    words = shlex.split(line)
    assert words[1:4] == ["-I", "-m", "ltocompat"]
    assert run(words[4:]) == 0
    reports = keys["artifacts"]["reports"]
    assert json.loads(Path(reports["codequality"]).read_text("utf-8"))[0]["check_name"]
    assert Path(reports["junit"]).read_text("utf-8").startswith("<?xml")
    assert set(keys["artifacts"]["paths"]) == set(reports.values())


@needs_bash
@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl")
def test_the_digest_of_the_template_is_what_gitlab_takes() -> None:
    """The pattern is that of GitLab's schema of ``.gitlab-ci.yml``."""
    (command,) = re.findall(r"# of that file: (openssl .*)", readme.CI.read_text("utf-8"))
    template = shlex.quote(str(ROOT / "templates" / "ltocompat.gitlab-ci.yml"))
    words = [BASH, "-c", command.replace("FILE", template)]
    digest = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(r"[A-Za-z0-9+/]{43}=", digest)
    assert "integrity: sha256-DIGEST " in readme.CI.read_text("utf-8")


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
        words = shlex.split(entry)
        assert words[:4] == ["python", "-I", "-m", "ltocompat"]
        assert run(words[4:]) == 0
    assert capsys.readouterr().out.count("audit passed") == 2


def test_the_hooks_pass_where_there_is_nothing_to_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without dist, with an empty one, and on files without device code; with a policy or none."""
    dist, files = (
        shlex.split(value)[4:] for value in re.findall(r"entry: (.*)", HOOKS.read_text())
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cpu.bin").write_bytes(b"no device code")
    wheel(tmp_path, {"x/cpu.bin": b"no device code"})
    cpu_only = ["cpu.bin", *(path.name for path in tmp_path.glob("*.whl"))]
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


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [("au", "audit"), ("audit --fo", "--format"), ("audit --format sa", "sarif")],
)
def test_a_shell_completes_the_verb_its_options_and_formats(
    typed: str, wanted: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_LTOCOMPAT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"ltocompat {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    monkeypatch.setattr(sys, "argv", ["ltocompat"])
    with pytest.raises(SystemExit):
        main()
    assert f"plain,{wanted}" in capsys.readouterr().out.split()
