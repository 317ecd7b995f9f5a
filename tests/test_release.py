"""What a release is made of: one version, one list of dependencies, actions pinned by commit."""
# ruff: noqa: S607 - git, as developers have it

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from ltocompat.model.version import OWNER, SITE_URL, VERSION

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github").glob("**/*.yml"))
CONDA_NAMES = {"ahocorasick-rs": "ahocorasick_rs", "isal": "python-isal"}


def read(path: Path) -> str:
    return path.read_text("utf-8", "replace")


def recipe() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / ".conda" / "recipe.yaml").read_text("utf-8"))
    return found


def of_conda(requirements: list[str]) -> set[str]:
    return {
        requirement.replace(name, CONDA_NAMES.get(name, name)).replace(">=", " >=", 1)
        for requirement in (each.partition(";")[0].strip() for each in requirements)
        for name in [re.split(r"[><=]", requirement)[0]]
    }


def test_the_recipe_for_conda_forge_asks_for_what_the_package_asks_for() -> None:
    requirements = recipe()["requirements"]
    base, gpu = PROJECT["dependencies"], PROJECT["optional-dependencies"]["gpu"]
    assert set(requirements["run"]) - of_conda(base) == {"python >=${{ python_min }}"}
    assert of_conda(base) <= set(requirements["run"])
    assert set(requirements["run_constraints"]) == of_conda(gpu)
    assert PROJECT["requires-python"] == f">={recipe()['context']['python_min']}"


def test_the_recipe_has_the_version_of_the_code() -> None:
    assert recipe()["context"]["version"] == VERSION
    assert PROJECT["dynamic"] == ["version"]


def test_pages_have_one_address() -> None:
    urls = dict(PROJECT["urls"])
    source = urls.pop("Source")
    assert urls["Documentation"] == SITE_URL
    for url in urls.values():
        page = url.removeprefix(SITE_URL)
        assert page != url
        assert not page or (ROOT / "docs" / page).with_suffix(".md").exists(), url
    assert recipe()["about"]["repository"] == source


def test_the_code_has_one_address() -> None:
    names = ("README.md", "docs/ci.md", ".conda/recipe.yaml", "pyproject.toml")
    lines = ROOT / "ltocompat" / "report" / "verbs" / "init_lines"
    for path in (*(ROOT / name for name in names), lines / "github.txt", lines / "pre-commit.txt"):
        found = re.findall(
            r"(?:github(?:usercontent)?\.com/|uses: )([\w-]+)/ltocompat\b", read(path)
        )
        assert set(found) == {OWNER}, path


def test_a_release_waits_for_the_addresses_which_one_command_writes(tmp_path: Path) -> None:
    """In a copy of the checkout: the step of the workflow refuses it, then not."""
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    told = [name for name in names if name and re.search(f"{OWNER}|{SITE_URL}", read(ROOT / name))]
    for name in (*told, ".github/set_address.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for command in ("init -q", "add -A"):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True)
    release = yaml.safe_load(read(ROOT / ".github" / "workflows" / "release.yml"))
    (check,) = (
        step["run"] for step in release["jobs"]["build"]["steps"] if "set_address" in str(step)
    )
    assert subprocess.run(check.split(), cwd=tmp_path, check=False).returncode == 1
    program = (sys.executable, ".github/set_address.py")
    address = ("acme", "https://acme.example.org/ltocompat")
    subprocess.run([*program, *address], cwd=tmp_path, check=True)
    subprocess.run(check.split(), cwd=tmp_path, check=True)
    assert "- uses: acme/ltocompat/.github" in read(tmp_path / "README.md")
    assert "](https://raw.githubusercontent.com/acme/ltocompat/main/" in read(
        tmp_path / "README.md"
    )
    settings = tomllib.loads(read(tmp_path / "pyproject.toml"))["project"]["urls"]
    assert settings["Rules"] == "https://acme.example.org/ltocompat/rules/index.html"
    assert settings["Source"] == "https://github.com/acme/ltocompat"
    for path in tmp_path.rglob("*.md"):
        assert "stands for the account" not in read(path)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_of_others_are_pinned_by_commit(path: Path) -> None:
    for line in path.read_text("utf-8").splitlines():
        _, uses, action = line.partition("uses: ")
        if uses:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", action), line


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_no_job_has_a_permission_that_it_does_not_name(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text("utf-8"))
    for job in workflow.get("jobs", {}).values():
        assert workflow["permissions"] == {}
        assert "permissions" in job
        assert "secrets" not in str(job)
