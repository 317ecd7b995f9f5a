"""The pages of the site tell the truth: commands run, or say why they don't, and are understood."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from contextlib import suppress
from pathlib import Path

import click
import packages_made
import pytest
import readme
from every_case import every
from kernels_project import Project

from ltocompat.cli import VERBS, run, verb_command
from ltocompat.commands.policy.reading import read_policy

DOCS = readme.SITE
PAGES = sorted({*DOCS.glob("*.md"), *DOCS.glob("guides/*.md"), *DOCS.glob("reference/*.md")})
MARKS = {"gpu": "need a GPU", "network": "need the network", "ci": "run on a CI host"}
FENCES = [
    (page, info, text)
    for page in PAGES
    for info, text in re.findall(
        r"^```(\S.*?)\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
]
SHELL = [(page, info, text) for page, info, text in FENCES if info.split()[0] in ("sh", "console")]
MARKED = [(page, info, text) for page, info, text in SHELL if info.startswith("sh ")]


def test_a_command_is_run_or_carries_one_of_three_marks(capsys: pytest.CaptureFixture[str]) -> None:
    run_here = {f"{session.command}\n" for session in readme.sessions()}
    marks: Counter[str] = Counter()
    for page, info, text in SHELL:
        language, *words = info.split()
        if language == "console":
            assert text.removeprefix("$ ").splitlines(keepends=True)[0] in run_here, (page, text)
        else:
            (mark,) = words
            assert mark in MARKS, page
            marks[mark] += sum(1 for line in text.splitlines() if line.strip())
    with capsys.disabled():
        counts = ", ".join(f"{marks[mark]} {text}" for mark, text in MARKS.items())
        print(f"commands on pages: {len(run_here)} run in tests, {counts}")


@every("case", MARKED)
def test_what_is_not_run_is_understood_by_its_verb(case: tuple[Path, str, str]) -> None:
    """The options of a line are those of its verb, though nothing is run."""
    _, _, text = case
    for line in text.splitlines():
        words = shlex.split(line)
        if "ltocompat" not in words:
            continue
        verb, *options = words[words.index("ltocompat") + 1 :]
        assert verb in VERBS
        verb_command(verb).make_context(verb, options)


EVERY_PAGE = [
    readme.README,
    *sorted(DOCS.rglob("*.md")),
    *sorted((readme.ROOT / ".github").glob("*.md")),
    *sorted((readme.ROOT / "sample_artifacts").glob("*.md")),
]
_IN_SENTENCES = re.compile(r"^ {4,}(ltocompat .+)$|`(ltocompat [^`]+)`", re.MULTILINE)
_SHELL_SIGNS = {"|", ">", "<"}


@every("page", EVERY_PAGE)
def test_a_command_in_a_sentence_is_understood_by_its_verb(page: Path) -> None:
    """Also one that stands indented; a sentence may leave out the paths, ``ltocompat slim``."""
    for indented, in_code in _IN_SENTENCES.findall(page.read_text("utf-8")):
        line = indented or in_code
        verb, *options = shlex.split(re.sub(r"[][]", "", line), comments=True)[1:]
        if verb in ("VERB", "--help", "--version"):
            continue
        assert verb in VERBS, line
        ends = [number for number, word in enumerate(options) if word in _SHELL_SIGNS]
        with suppress(click.MissingParameter, click.exceptions.Exit):
            verb_command(verb).make_context(verb, options[: min(ends, default=len(options))])


def test_what_guides_put_into_a_policy_is_one(tmp_path: Path) -> None:
    target = '[tool.ltocompat.targets.prod]\ndriver = "580"\n'
    found = [text for page, info, text in FENCES if info == "toml" and page.parent.name == "guides"]
    assert found
    for number, text in enumerate(found):
        path = tmp_path / f"{number}.toml"
        path.write_text(target + text, "utf-8")
        assert read_policy(str(path)).targets


def test_the_last_step_of_the_start_ends_in_a_green_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (step,) = (text for page, info, text in MARKED if page.stem == "start" and info == "sh ci")
    project = Project.copy(tmp_path / "kernels")
    wheel = project.build()
    policy = project.folder / "pyproject.toml"
    policy.write_text(policy.read_text("utf-8").partition("[tool.ltocompat")[0], "utf-8")
    monkeypatch.chdir(project.folder)
    for line in step.splitlines():
        words = shlex.split(line.replace("dist/*.whl", str(wheel)))
        assert words[0] == "ltocompat"
        assert run([word for word in words[1:] if word != "--install-linkers"]) == 0, line


EXAMPLE = DOCS / "example"


def test_the_package_to_copy_passes_its_gate_and_fails_one_promise_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps of docs/example; pip builds the wheel with hatchling, which needs the network."""
    text = (EXAMPLE / "README.md").read_text("utf-8")
    copy, build, *gate = re.findall(r"^ {7}(.+)$", text, re.MULTILINE)
    assert build == "pip wheel --no-deps -w dist ."
    library = EXAMPLE / shlex.split(copy)[1]
    code = {"saxpy/__init__.py": b"", f"saxpy/{library.name}": library.read_bytes()}
    (tmp_path / "dist").mkdir()
    packages_made.wheel(tmp_path / "dist", code, name="saxpy")
    monkeypatch.chdir(tmp_path)
    policy = (EXAMPLE / "pyproject.toml").read_text("utf-8")
    more = policy.replace('"l4"]', '"l4", "h100"]')
    assert more.count("h100") == 2
    for content, code_of_exit in ((policy, 0), (more, 1)):
        Path("pyproject.toml").write_text(content, "utf-8")
        for line in gate:
            assert run(shlex.split(line)[1:]) == code_of_exit
