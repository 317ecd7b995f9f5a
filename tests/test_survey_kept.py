"""What a survey keeps: a dataset that is stopped at any moment."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from surveys_made import packages, survey

from ltocompat.cli import run as run_line
from ltocompat.commands.survey import dataset
from ltocompat.commands.survey.dataset import Dataset, DatasetWriter
from ltocompat.commands.survey.tables import TABLES, Row, Surveyed

TARGET = "driver=535.104.05,gpu=a100"


class Killed(BaseException):
    """Stands for the end of the process: nothing happens behind it."""


class Killer:
    """Lets so many changes of files happen, and none behind them."""

    def __init__(self, changes: int) -> None:
        self.left = changes

    def wrapped(self, change: Any) -> Any:  # noqa: ANN401 - any function
        def call(*args: Any, **named: Any) -> Any:  # noqa: ANN401
            self.left -= 1
            if self.left < 0:
                raise Killed
            return change(*args, **named)

        return call


def typed_rows(dataset: Dataset, name: str) -> list[Row]:
    return [msgspec.convert(row, TABLES[name]) for row in dataset.table(name).to_pylist()]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, list[Surveyed]]:
    """A dataset, and its rows by distribution; one of them failed for the time being."""
    folder = tmp_path_factory.mktemp("made")
    packages(folder / "packages")
    survey(folder / "packages", folder / "out", TARGET)
    whole = Dataset(str(folder / "out"))
    tables = {name: list(typed_rows(whole, name)) for name in TABLES}
    found = []
    for distribution in tables["distributions"]:
        of_one = {
            name: tuple(row for row in rows if row.sha256 == distribution.sha256)
            for name, rows in tables.items()
        }
        found.append(msgspec.convert(of_one, Surveyed, from_attributes=True))
    return whole, found


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_run_that_is_stopped_at_any_change_loses_and_doubles_no_row(
    step: int,
    made: tuple[Dataset, list[Surveyed]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, found = made
    assert whole.manifest is not None
    question = whole.manifest.runs[-1]
    passing = msgspec.structs.replace(
        found[0],
        errors=tuple(
            msgspec.structs.replace(error, passing=True) for each in found for error in each.errors
        )[:1],
    )
    assert passing.passing
    expected = {name: sorted(map(repr, typed_rows(whole, name))) for name in TABLES}

    def write(folder: Path) -> None:
        """Add what is missing, in three parts; the first distribution fails at its first time."""
        with DatasetWriter(str(folder), question) as writer:
            known = {known.sha256 for known in writer.known().values()}
            first = not (folder / "tried").exists()
            for each in found:
                if each.distributions[0].sha256 not in known:
                    writer.add(passing if first and each is found[0] else each)
            (folder / "tried").touch()

    monkeypatch.setattr(dataset, "_MOST", 4)
    changes = 0
    while True:
        folder = tmp_path / str(changes)
        killer = Killer(changes)
        with monkeypatch.context() as patch:
            for name in ("replace", "remove"):
                patch.setattr(os, name, killer.wrapped(getattr(os, name)))
            try:
                write(folder)
                write(folder)  # which tries again what may pass
            except Killed:
                pass
        if killer.left >= 0:
            break
        write(folder)
        write(folder)
        found_now = {
            name: sorted(map(repr, typed_rows(Dataset(str(folder)), name))) for name in TABLES
        }
        assert found_now == expected, changes
        changes += step
    assert changes > 30


def test_two_runs_never_write_at_once(tmp_path: Path, made: tuple[Dataset, list[Surveyed]]) -> None:
    from ltocompat.model.errors import UsageError

    assert made[0].manifest is not None
    question = made[0].manifest.runs[-1]
    with (
        DatasetWriter(str(tmp_path), question),
        pytest.raises(UsageError, match="another survey is writing"),
    ):
        DatasetWriter(str(tmp_path), question)


@pytest.mark.parametrize(
    ("missing", "jobs"), [("pyarrow", "1"), ("urllib3", "1"), ("distributed", "2")]
)
def test_without_the_extra_one_sentence_says_what_to_install(
    missing: str,
    jobs: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    code = run_line(["survey", "http://127.0.0.1:9/simple", "-o", str(tmp_path), "--jobs", jobs])
    assert code == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert "pip install 'ltocompat[survey]'" in line
