"""What a release is made of: one version, one list of dependencies, actions pinned by commit."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from ltocompat.model.version import SITE_URL, VERSION

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github").glob("**/*.yml"))
CONDA_NAMES = {"ahocorasick-rs": "ahocorasick_rs"}


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
    owner = PROJECT["urls"]["Source"].removeprefix("https://github.com/")
    names = ("README.md", "docs/ci.md", ".conda/recipe.yaml")
    lines = ROOT / "ltocompat" / "report" / "verbs" / "init_lines"
    for path in (*(ROOT / name for name in names), lines / "github.txt", lines / "pre-commit.txt"):
        found = set(
            re.findall(r"(?:github\.com/|uses: )(\w+/ltocompat)\b", path.read_text("utf-8"))
        )
        assert found == {owner}, path


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
