"""Surveys of a package index, which the tests serve themselves, and of lists of what it has."""

from __future__ import annotations

import html.parser
import importlib
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from index_server import Index, ask_no_index_of_the_user, serving
from packages_made import CUBIN_12_4, CUBIN_13_5, wheel
from surveys_made import packages

from ltocompat.cli import run as run_line
from ltocompat.commands.survey import http
from ltocompat.commands.survey.dataset import Dataset
from ltocompat.commands.survey.options import Choice, RunOptions
from ltocompat.commands.survey.run import Tally, run
from ltocompat.commands.survey.tables import MEASURED, TABLES
from ltocompat.model.errors import UnreadableInput
from ltocompat.model.failure import Note
from ltocompat.packages.index_answers import JSON_TYPE, project_files, project_names
from ltocompat.packages.index_settings import IndexSettings

TARGET = "driver=535.104.05,gpu=a100"
SASS = "only_sass-2.0-py3-none-manylinux_2_28_x86_64.whl"
PURE = "pure-1.0-py3-none-manylinux_2_28_x86_64.whl"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = packages(tmp_path_factory.mktemp("wheels"))
    # Whatever lies in the middle of a large wheel is not fetched to learn that it is pure.
    chosen = random.Random(0)  # noqa: S311 - any bytes that don't pack
    names = {f"pure/m{number}.py": chosen.randbytes(5000) for number in range(400)}
    wheel(folder, names, ["numpy>=2"], name="pure", version="1.0")
    return folder


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ask_no_index_of_the_user(monkeypatch, tmp_path)
    monkeypatch.setattr(http, "_READ_SECONDS", 0.3)
    monkeypatch.setattr(http, "_LONGEST_WAIT", 0.05)


@pytest.fixture
def index(wheels: Path) -> Iterator[Index]:
    with serving(Index(wheels)) as found:
        yield found


def survey(
    index: Index,
    out: Path,
    *sources: str,
    **options: Any,  # noqa: ANN401 - options of any type
) -> tuple[Tally, list[str]]:
    named = sources or (index.url,)
    given = {"jobs": 1, "targets": (TARGET,), **options}
    records = list(run(RunOptions(named, str(out), **given)))
    notes = [record.message for record in records if isinstance(record, Note)]
    (tally,) = (record for record in records if isinstance(record, Tally))
    return tally, notes


def rows(out: Path, *, source: bool = True) -> dict[str, list[dict[str, Any]]]:
    """All rows without the columns that two runs may fill differently."""
    found = {}
    for name in TABLES:
        left_out = set(MEASURED)
        if not source:
            left_out |= {"source", "index", "requires_python", "upload_time", "looked_at"}
        kept = [
            {key: value for key, value in row.items() if key not in left_out}
            for row in Dataset(str(out)).table(name).to_pylist()
        ]
        found[name] = sorted(kept, key=repr)
    return found


def by_name(out: Path) -> dict[str, dict[str, Any]]:
    return {row["filename"]: row for row in Dataset(str(out)).table("distributions").to_pylist()}


def test_an_index_has_the_same_rows_as_the_folder_of_its_wheels(
    index: Index, wheels: Path, tmp_path: Path
) -> None:
    survey(index, tmp_path / "index", choice=Choice(9, every_python=True))
    survey(index, tmp_path / "folder", str(wheels))
    assert rows(tmp_path / "index", source=False) == rows(tmp_path / "folder", source=False)


def test_an_older_index_of_html_has_the_same_rows(index: Index, tmp_path: Path) -> None:
    survey(index, tmp_path / "json", match="only-*")
    index.html = True
    survey(index, tmp_path / "html", match="only-*")
    without_times = [rows(tmp_path / name, source=False) for name in ("json", "html")]
    assert without_times[0] == without_times[1]


def test_what_the_index_says_of_a_file_is_in_its_row(index: Index, tmp_path: Path) -> None:
    survey(index, tmp_path / "out", match="only-*")
    row = by_name(tmp_path / "out")[SASS]
    assert row["index"] == index.url
    assert row["source"] == f"{index.url.removesuffix('/simple')}/files/{SASS}"
    assert row["upload_time"] == datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    assert row["requires_python"] == ">=3.9"
    assert not row["yanked"]


@pytest.mark.parametrize("page", [b"<![@", b"<![foo[ x]]>"])
def test_a_page_that_is_no_html_is_one_sentence(page: bytes) -> None:
    for read in (
        lambda: project_files(page, "text/html", "http://x/"),
        lambda: [*project_names(page, "", "http://x/")],
    ):
        try:
            html.parser.HTMLParser().feed(page.decode())
        except AssertionError:
            with pytest.raises(UnreadableInput, match="not HTML"):
                read()
        else:  # newer releases of Python take it as a comment
            assert read() == []


def test_names_and_times_of_an_index_that_mean_nothing_are_left_out() -> None:
    for page in (
        b"[" * 100_000,
        b"{}",
        b'{"projects": [{"name": 1}]}',
        b'{"projects": [{"name": "\xff"}]}',
    ):
        with pytest.raises(UnreadableInput, match="http://x/ is not a list of projects: "):
            project_names(page, JSON_TYPE, "http://x/")
    page = b'{"projects": [{"name": "A.Good"}, {"name": "one", "_last-serial": 1}]}'
    assert list(project_names(page, JSON_TYPE, "http://x/")) == ["a-good", "one"]
    files = [
        {"filename": name, "url": "http://x/y", "upload-time": f"{year}-01-01T00:00:00+14:00"}
        for name, year in [
            ("x.whl", "0001"),
            ("y.whl", "2026"),
            ("a\0b", "2026"),
            ("a" * 256, "2026"),
        ]
    ]
    found = project_files(json.dumps({"files": files}).encode(), JSON_TYPE, "http://x/")
    times = {file.filename: file.upload_time for file in found}
    assert times == {"x.whl": None, "y.whl": datetime(2025, 12, 31, 10, tzinfo=UTC)}


def test_a_pure_wheel_costs_its_end_and_its_metadata(index: Index, tmp_path: Path) -> None:
    survey(index, tmp_path / "out", match="pure")
    row = by_name(tmp_path / "out")[PURE]
    size = (index.folder / PURE).stat().st_size
    assert (row["status"], row["looked_at"]) == ("no device code", "members")
    assert row["requires_dist"] == ["numpy>=2"]
    fetched = sum(sent for path, sent in index.sent.items() if path.startswith("/files/"))
    assert row["bytes_fetched"] == fetched < size / 10
    assert row["requests"] == 2


def test_without_ranges_the_answer_to_one_is_not_read(index: Index, tmp_path: Path) -> None:
    index.ranges = False
    tally, _ = survey(index, tmp_path / "out", match="pure")
    size = (index.folder / PURE).stat().st_size
    assert tally.statuses == {"no device code": 1}
    # Once whole; of the answer to the range no more than what the system's buffers held.
    assert size <= by_name(tmp_path / "out")[PURE]["bytes_fetched"] <= size + 1000


@pytest.mark.parametrize(
    "fault", ["changes", *(pytest.param(f, marks=pytest.mark.slow) for f in ("cut", "busy"))]
)
def test_a_connection_that_is_cut_or_busy_at_first_changes_no_row(
    fault: str, index: Index, tmp_path: Path
) -> None:
    survey(index, tmp_path / "sound", match="only-*")
    index.faults[SASS] = fault
    survey(index, tmp_path / "broken", match="only-*")
    assert rows(tmp_path / "broken") == rows(tmp_path / "sound")


def test_a_file_whose_connection_was_cut_goes_on_where_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    large = random.Random(0).randbytes(3_000_000)  # noqa: S311 - any bytes that don't pack
    path = wheel(folder, {"k/x.cubin": CUBIN_13_5, "k/y.bin": large}, name="big")
    with serving(Index(folder)) as index:
        index.faults[path.name] = "cut"
        survey(index, tmp_path / "out")
        ranges = [span for path, span in index.requests if path.startswith("/files/") and span]
    assert any(span.endswith("-") for span in ranges)
    assert by_name(tmp_path / "out")[path.name]["status"] == "read"


@pytest.mark.parametrize(
    ("fault", "passing", "reason"),
    [
        ("sum", True, "has SHA-256 .* not 0{64} as its index says"),
        ("cut always", True, "was interrupted"),
        ("stall", True, "was interrupted|can't be fetched"),
        ("gone", False, "answers 404"),
    ],
)
def test_a_fault_costs_one_row_with_its_reason(
    fault: str, passing: bool, reason: str, index: Index, tmp_path: Path
) -> None:
    index.faults[SASS] = fault
    tally, notes = survey(index, tmp_path / "out", match="only-*")
    assert tally.statuses == {"read": 1, "failed": 1}
    (error,) = Dataset(str(tmp_path / "out")).table("errors").to_pylist()
    assert (error["filename"], error["step"], error["passing"]) == (SASS, "fetch", passing)
    assert re.search(reason, error["reason"])
    assert len(notes) == 1


def test_what_failed_for_the_time_being_is_tried_again_and_has_one_row(
    index: Index, tmp_path: Path
) -> None:
    survey(index, tmp_path / "sound", match="only-*")
    index.faults[SASS] = "cut always"
    survey(index, tmp_path / "out", match="only-*")
    assert by_name(tmp_path / "out")[SASS]["status"] == "failed"
    index.faults.clear()
    tally, _ = survey(index, tmp_path / "out", match="only-*")
    assert (tally.known, tally.statuses) == (1, {"read": 1})
    assert rows(tmp_path / "out") == rows(tmp_path / "sound")


def test_a_second_run_over_an_index_fetches_no_file(index: Index, tmp_path: Path) -> None:
    survey(index, tmp_path / "out", match="only-*")
    index.requests.clear()
    survey(index, tmp_path / "out", match="only-*")
    assert not [path for path, _ in index.requests if path.startswith("/files/")]


def test_a_list_names_projects_and_versions_of_the_users_index(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = tmp_path / "names.txt"
    names.write_text("# of ours\nOnly.Sass<2  # the first\nonly-ptx\nno-such-project\n\n")
    monkeypatch.setenv("PIP_INDEX_URL", index.url)
    tally, notes = survey(index, tmp_path / "out", str(names))
    assert (tally.unlisted, tally.statuses) == (1, {"read": 2})
    assert notes == [f"no-such-project: {index.url}/no-such-project/ answers 404 Not Found"]
    assert {row["version"] for row in by_name(tmp_path / "out").values()} == {"1.0"}
    before = rows(tmp_path / "out")
    again, notes = survey(index, tmp_path / "out", str(names))
    assert (again.known, again.unlisted, notes) == (2, 0, [])
    assert rows(tmp_path / "out") == before


def test_releases_platforms_and_pythons_are_chosen(tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    linux, windows = "manylinux_2_28_x86_64", "win_amd64"
    for version in ("1.0", "1.9", "1.10", "2.0rc1", "3.0.yanked"):
        for python in ("cp39", "cp313"):
            for platform in (linux, windows):
                tag = f"{python}-{python}-{platform}"
                wheel(folder, {"x.cubin": CUBIN_12_4}, name="x", version=version, tag=tag)
    with serving(Index(folder)) as index:

        def names(choice: Choice) -> set[str]:
            out = tmp_path / repr(choice)
            survey(index, out, choice=choice)
            return {name.removesuffix(".whl") for name in by_name(out)}

        both = {f"x-1.10-cp313-cp313-{platform}" for platform in (linux, windows)}
        assert names(Choice()) == both
        assert names(Choice(2, ("win*",))) == {
            f"x-{v}-cp313-cp313-{windows}" for v in ("1.9", "1.10")
        }
        assert len(names(Choice(every_python=True))) == 4


def test_few_connections_are_open_at_once(index: Index, tmp_path: Path) -> None:
    survey(index, tmp_path / "out", choice=Choice(9))
    assert index.at_once <= 2  # a page of a project, and a file


def test_too_large_a_package_is_not_fetched(index: Index, tmp_path: Path) -> None:
    survey(index, tmp_path / "out", match="only-sass", limit_bytes=1000)
    (error,) = Dataset(str(tmp_path / "out")).table("errors").to_pylist()
    assert error["limit"] == "limit-bytes"
    before = rows(tmp_path / "out")
    again, _ = survey(index, tmp_path / "out", match="only-sass", limit_bytes=1000)
    assert not again.statuses
    assert rows(tmp_path / "out") == before
    assert not [path for path, _ in index.requests if path.startswith("/files/")]


def test_names_and_passwords_are_sent_and_never_shown(index: Index, tmp_path: Path) -> None:
    secret = index.url.replace("http://", "http://me:secret@")
    survey(index, tmp_path / "out", secret, match="only-*")
    assert len(by_name(tmp_path / "out")) == 2
    out = tmp_path / "out"
    assert b"secret" not in (out / "survey.json").read_bytes()
    assert "secret" not in str(rows(out))


@pytest.mark.parametrize("source", ["file:///x", "ftp://host/simple", "gone"])
def test_a_source_that_is_none_is_told_at_once(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run_line(["survey", source, "-o", str(tmp_path / "out")])
    assert code in (2, 3)
    assert re.search("https://HOST/simple|can't be reached by fsspec", capsys.readouterr().err)
    assert not (tmp_path / "out").exists()


def test_another_pip_answers_for_an_environment_that_has_none(tmp_path: Path) -> None:
    """As those of uv and pipx have none; the configuration of the environment itself counts."""
    bare, work = tmp_path / "bare", tmp_path / "work"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    (bare / "pip.conf").write_text("[global]\nindex-url = https://of-the-environment/simple\n")
    (work / "bin").mkdir(parents=True)
    planted = work / "bin" / "pip"
    planted.write_text("#!/bin/sh\ntouch ran\necho \"global.index-url='https://planted'\"\n")
    planted.chmod(0o755)
    pip = str(Path(sys.executable).with_name("pip"))
    assert Path(pip).exists()
    code = (
        "from ltocompat.packages.index_settings import IndexSettings\n"
        "print(IndexSettings.of().urls[0])"
    )
    for module in ("ltocompat", "msgspec"):
        found = Path(str(importlib.import_module(module).__file__)).parent
        (work / module).symlink_to(found)

    def main_index(path: str) -> str:
        environ = {"PATH": path, "PYTHONPATH": str(work), "HOME": str(tmp_path)}
        words = [str(bare / "bin" / "python"), "-c", code]
        run = subprocess.run(
            words, env=environ, cwd=work, capture_output=True, text=True, check=False
        )
        return run.stdout.strip() or run.stderr.strip().splitlines()[-1]

    assert main_index(str(Path(pip).parent)) == "https://of-the-environment/simple"
    assert "no package index is configured" in main_index("bin")
    assert not (work / "ran").exists()


def test_settings_are_read_as_pip_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "pip.conf"
    file.write_text(
        "[global]\nindex-url = https://a/simple\nextra-index-url = https://b https://c\n"
        "[download]\nindex_url = https://d/it's\n[install]\nproxy = http://no\n"
    )
    environ = {"PIP_CONFIG_FILE": str(file), "HOME": str(tmp_path)}
    found = IndexSettings.of(environ)
    assert (found.urls[0], found.proxy) == ("https://d/it's", None)
    assert {"https://b", "https://c"} <= set(found.urls)
    environ |= {"PIP_INDEX_URL": "https://e/simple", "PIP_CERT": "/certs.pem"}
    found = IndexSettings.of(environ)
    assert (found.urls[0], found.cert) == ("https://e/simple", "/certs.pem")
    environ = {"PIP_CONFIG_FILE": os.devnull}
    words = [sys.executable, "-I", "-m", "pip", "install", "--help"]
    run_pip = subprocess.run(words, env=environ, capture_output=True, check=True, text=True)
    (default,) = IndexSettings.of(environ).urls
    assert f"(default {default})" in " ".join(run_pip.stdout.split())
