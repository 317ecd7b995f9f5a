"""What we give to others for their CI, in a checkout that somebody hostile wrote."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / ".github/actions/ltocompat/action.yml").read_text("utf-8"))
TEMPLATE = yaml.safe_load((ROOT / "templates/ltocompat.gitlab-ci.yml").read_text("utf-8"))
LINES = ROOT / "ltocompat" / "report" / "verbs" / "init_lines" / "gitlab.txt"
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
BASH = shutil.which("bash") or ""
GITHUB = ("GITHUB_TOKEN", "GH_TOKEN", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN")
GITLAB = ("CI_JOB_TOKEN", "CI_REPOSITORY_URL")
MODULES = (
    *("pip", "venv", "ensurepip", "ltocompat", "sitecustomize", "usercustomize", "typing"),
    *("runpy", "subprocess", "zipfile", "json", "msgspec", "platform", "nturl2path"),
)
PROGRAMS = ("python", "python3", "pip", "ltocompat", "mktemp", "bash")
# It says that it is the real one, and which tokens it was given.
REAL = f"""
import os, sys
def main():
    print("real", *sys.argv[1:], *(name for name in {GITHUB + GITLAB!r} if name in os.environ))
"""
needs_bash = pytest.mark.skipif(not BASH, reason="needs bash")


def wheel(folder: Path) -> Path:
    """A package that stands in for ours, which no index has yet: pip installs it offline."""
    path = folder / "ltocompat-9-py3-none-any.whl"
    info = "ltocompat-9.dist-info"
    files = {
        "ltocompat/__init__.py": REAL,
        "ltocompat/__main__.py": "from ltocompat import main\nmain()\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: ltocompat\nVersion: 9\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\nltocompat = ltocompat:main\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
    return path


class Checkout:
    """A folder whose every file writes down that it was run, and variables that lead to them."""

    def __init__(self, folder: Path, tokens: tuple[str, ...] = ()) -> None:
        self.folder = folder / "checkout"
        self.log = folder / "log"
        self.output = folder / "output"
        self.packages = folder / "packages"
        self.packages.mkdir()
        self.wheel = wheel(self.packages)
        for name in MODULES:
            self.write(f"{name}.py", f"open({str(self.log)!r}, 'a').write('{name}.py ')\n")
        for place in (".", "bin", ".venv/bin"):
            for name in PROGRAMS:
                self.write(f"{place}/{name}", f"#!/bin/sh\necho {name} >> {self.log}\n").chmod(
                    0o755
                )
        self.write("env.sh", f"echo env.sh >> {self.log}\n")
        self.write("pip.conf", "[global]\nindex-url = file:///nowhere\ntarget = stolen\n")
        self.write("pyvenv.cfg", "home = .\n")
        self.environ = {
            **dict.fromkeys(tokens, "secret"),
            "HOME": str(folder),
            "PATH": f"{self.folder}/.venv/bin:.:bin:{Path(sys.executable).parent}:{os.defpath}",
            "PYTHONPATH": str(self.folder),
            "PYTHONUSERBASE": str(self.folder),
            "PYTHONSTARTUP": "env.sh",
            "BASH_ENV": str(self.folder / "env.sh"),
            "ENV": str(self.folder / "env.sh"),
            "BASH_FUNC_cd%%": f'() {{ echo cd >> {self.log}; builtin cd "$@"; }}',
            "PIP_CONFIG_FILE": "pip.conf",
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.packages),
            "TMPDIR": str(folder),
        }

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def run(self, words: list[str], **more: str) -> str:
        """Run a program here, with these variables beside; its output."""
        done = subprocess.run(
            words,
            cwd=self.folder,
            env={**self.environ, **more},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run_step(self, step: dict[str, Any], **more: str) -> str:
        """Run a step of the action as the runner does: by the shell that it names."""
        script = self.log.with_name("step.sh")
        script.write_text(step["run"], "utf-8")
        program, *words = shlex.split(step["shell"].replace("{0}", str(script)))
        assert program == "bash"
        return self.run([BASH, *words], GITHUB_OUTPUT=str(self.output), **more)

    def was_run(self) -> str:
        return self.log.read_text("utf-8") if self.log.exists() else ""


def test_what_is_planted_is_run_where_nobody_takes_care(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    checkout.run([sys.executable, "-c", "pass"])
    assert "sitecustomize.py" in checkout.was_run()
    if BASH:
        checkout.run([BASH, "-c", "cd ."])
        assert {"env.sh", "cd"} <= set(checkout.was_run().split())


@pytest.mark.slow
@needs_bash
@pytest.mark.parametrize(("python", "release"), [("python3", ""), (sys.executable, "9")])
def test_the_action_runs_nothing_of_the_checkout(python: str, release: str, tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, GITHUB)
    install, audit = ACTION["runs"]["steps"]
    place = tmp_path / "runner" / "ltocompat"
    digest = hashlib.sha256(checkout.wheel.read_bytes()).hexdigest()
    pins = tmp_path / "requirements.txt"
    pins.write_text(f"ltocompat==9 --hash=sha256:{digest}\n", "utf-8")
    checkout.run_step(
        install,
        INTERPRETER=python,
        RELEASE=release,
        SOURCE=str(checkout.wheel),
        PINS=str(pins),
        PLACE=str(place),
        PIP_PYTHON=str(checkout.folder / "python"),
        PIP_TARGET=str(checkout.folder / "stolen"),
    )
    said = checkout.run_step(audit, LTOCOMPAT=str(place / "bin" / "ltocompat"), PATHS="a\nb c\n")
    assert said == "real audit --format github -- a b c\n"
    assert not checkout.was_run()
    assert not (checkout.folder / "stolen").exists()
    assert "outcome=passed" in checkout.output.read_text("utf-8")


@pytest.mark.slow
@needs_bash
def test_the_job_for_gitlab_runs_nothing_of_the_checkout(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, GITLAB)
    # The image has one Python, and the runner gives its shell no start-up files.
    checkout.environ["PATH"] = f"{Path(sys.executable).parent}:{os.defpath}"
    for name in ("BASH_ENV", "ENV", "BASH_FUNC_cd%%"):
        del checkout.environ[name]
    job = TEMPLATE[".ltocompat"]
    # Of the stand-in there is one release, which needs nothing.
    checkout.environ |= job["variables"] | {"LTOCOMPAT_RELEASE": "9", "LTOCOMPAT_PINS": ""}
    script = "\n".join(["set -e", *job["before_script"], *job["script"]])
    said = checkout.run(["sh", "-c", script])
    assert said.startswith("real audit --format gitlab=")
    assert not set(GITLAB) & set(said.split())
    assert not checkout.was_run()


def test_every_python_that_others_run_is_isolated() -> None:
    ours = "\n".join(path.read_text("utf-8") for path in (ROOT / ".github/workflows").glob("*.yml"))
    given = [
        *(step["run"] for step in ACTION["runs"]["steps"]),
        *TEMPLATE[".ltocompat"]["before_script"],
        *TEMPLATE[".ltocompat"]["script"],
        *(hook["entry"] for hook in HOOKS),
        LINES.read_text("utf-8"),
        re.sub(r"python -m pytest", "", ours),  # runs the checkout, which is what it is for
    ]
    for text in given:
        assert not re.findall(r"(?<!-I) -m (?:pip|venv|build|twine|ltocompat)\b", text), text
    assert len(re.findall(r"-I -m", "\n".join(given))) > 12
    for step in ACTION["runs"]["steps"]:
        assert step["shell"].startswith("bash --noprofile --norc -p")


def test_the_action_installs_what_is_pinned_by_hash() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    text = (ROOT / ".github/actions/ltocompat/requirements.txt").read_text("utf-8")
    lines = text.replace("\\\n", " ").splitlines()
    pinned = {}
    for line in lines:
        requirement, _, hashes = line.partition(" --hash=")
        wanted = Requirement(requirement)
        assert hashes.startswith("sha256:")
        (pinned[wanted.name],) = wanted.specifier
    for need in (*project["project"]["dependencies"], *project["build-system"]["requires"]):
        wanted = Requirement(need)
        assert pinned[wanted.name].operator == "=="
        assert wanted.specifier.contains(pinned[wanted.name].version), need
