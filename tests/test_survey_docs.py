"""What docs/survey.md says, tried."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from surveys_made import example

from ltocompat.commands.survey.default_targets import default_targets
from ltocompat.commands.survey.report import answer_queries
from ltocompat.packages.requested import read_list
from ltocompat.targets import parse

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "survey.md").read_text("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return example(tmp_path_factory.mktemp("example"))


def test_the_page_of_the_tables_is_current() -> None:
    command = [sys.executable, str(DOCS / "generate_survey.py"), "--check"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


def test_the_line_of_pandas_finds_the_wheels_without_ptx(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder.parent)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "survey.md", "exec"), {})  # noqa: S102 - the page's own
    shown = capsys.readouterr().out
    assert "only-sass" in shown
    assert "only-ptx" not in shown


def test_every_query_of_the_page_and_of_an_answer_can_be_asked_of_the_files(folder: Path) -> None:
    import duckdb

    queries = [
        answer["query"].replace("OUT/", f"{folder}/") for answer in answer_queries()["answer"]
    ]
    queries += [
        line.replace("survey/", f"{folder}/")
        for block in re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
        for line in block.splitlines()
    ]
    assert len(queries) >= 10
    with duckdb.connect() as database:
        for query in queries:
            assert database.execute(query).description, query


def test_the_default_targets_are_those_of_the_page_and_can_be_judged() -> None:
    assert [line.strip() for line in PAGE.splitlines() if line.startswith("    driver=")] == list(
        default_targets(())
    )
    for platforms in ((), ("win_amd64",), ("manylinux_2_28_aarch64",)):
        targets = parse(list(default_targets(platforms)))
        assert [str(target.driver.values[0].branch) for target in targets if target.driver] == [
            *(["535", "550", "570", "580", "595", "615"] if platforms != ("win_amd64",) else ()),
            *(["537", "551", "572", "580", "595", "615"] if platforms == ("win_amd64",) else ()),
        ]
        assert all(target.gpus for target in targets)


def test_the_list_of_projects_can_be_surveyed() -> None:
    projects = read_list(str(DOCS.parent / "tests" / "data" / "survey_names.txt"))
    assert len({requested.project for requested in projects}) >= 80
