"""Facts as one document: what ``facts`` writes is read in place of the tables, or told."""

from __future__ import annotations

import copy
import datetime as dt
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltocompat.cli import run
from ltocompat.facts import exchange, table, table_names
from ltocompat.model.errors import UsageError
from ltocompat.report.schema import schema

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def document(capsys: Captured) -> dict[str, Any]:
    assert run(["facts", "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def written(folder: Path, document: object) -> str:
    path = folder / "facts.json"
    path.write_text(json.dumps(document), "utf-8")
    return str(path)


def ltocompat(facts: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own, where no table is loaded yet."""
    command = [sys.executable, "-m", "ltocompat", *words]
    environ = {**os.environ, "LTOCOMPAT_FACTS": facts}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


def with_next_release(document: dict[str, Any]) -> dict[str, Any]:
    """The same with a release 13.9 of CUDA, its driver branch 699 and an architecture."""
    newer = copy.deepcopy(document)
    tables, day = newer["tables"], {"source": "made up", "date": "2099-01-02"}
    tables["drivers"]["branch"].append({"branch": 699, "cuda": "13.9", **day})
    tables["drivers"]["toolkit"].append({"cuda": "13.9", "update": "GA", "linux": "699.1", **day})
    tables["ptx"]["isa"].append({"isa": "9.9", "cuda": "13.9", **day})
    last = tables["ltoir"]["release"][-1]
    tables["ltoir"]["release"].append({**last, "cuda": "13.9", "nvvm_ir": "2.99", **day})
    architecture = {"number": 130, "name": "Made", "first_toolkit": "13.9", "first_ptx": "9.9"}
    tables["sm"]["sm"].append({**architecture, "tegra": False, "first_branch": 699, **day})
    return newer


def test_the_document_has_every_table_whole(document: dict[str, Any]) -> None:
    jsonschema.validate(document, schema("facts"))
    assert sorted(document["tables"]) == table_names()
    plain = json.loads(json.dumps({name: table(name) for name in table_names()}, default=str))
    assert document["tables"] == plain
    assert document["facts"]["cuda"] == "13.9"  # as tests have it


def test_facts_may_be_newer_than_the_program(tmp_path: Path, document: dict[str, Any]) -> None:
    path = written(tmp_path, with_next_release(document))
    words = ["facts up to CUDA 13.9, driver R699, of 2099-01-02", "sm_130", "driver  R699"]
    said = [ltocompat(path, "--version"), *(ltocompat(path, "targets", w) for w in ("made", "699"))]
    for word, done in zip(words, said, strict=True):
        assert (done.returncode, word in done.stdout) == (0, True), done.stdout + done.stderr
    ptx = tmp_path / "x.ptx"
    ptx.write_text(".version 9.9\n.target sm_90\n.address_size 64\n.entry f() { bar.sync 0; }\n")
    check = ["check", str(ptx), "--format", "json", "--deploy-target"]
    done = ltocompat(path, *check, "driver=699,gpu=h100")
    assert json.loads(done.stdout)["results"][0]["verdict"] == "jit", done.stdout
    assert json.loads(done.stdout)["facts"]["date"] == "2099-01-02"
    assert run([*check, "driver=699,gpu=h100"]) == 3  # the program's own tables don't know either


def test_what_it_writes_it_reads(tmp_path: Path, document: dict[str, Any]) -> None:
    path = written(tmp_path, document)
    assert exchange.read_tables(path) == document["tables"]
    again = ltocompat(path, "facts", "--format", "json")
    assert json.loads(again.stdout)["tables"] == document["tables"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda d: d.pop("schema"),
            "is not a facts document: Object missing required field `schema`",
        ),
        (
            lambda d: d.update(schema="ltocompat/facts/v2"),
            "Invalid enum value 'ltocompat/facts/v2'",
        ),
        (lambda d: d["tables"].pop("ptx"), "missing required field `ptx`"),
        (lambda d: d["tables"]["sm"]["sm"].clear(), "length >= 1 - at `$.tables.sm.sm`"),
        (
            lambda d: d["tables"]["sm"]["sm"][3].update(number="90"),
            "Expected `int`, got `str` - at `$.tables.sm.sm[3].number`",
        ),
        (lambda d: d["tables"]["ptx"]["isa"][0].update(isa="new"), "matching regex"),
        (lambda d: d["tables"]["ptx"]["isa"][0].pop("source"), "required field `source`"),
        (lambda d: d["tables"]["floors"]["floor"].pop(), "has no value for the minimum"),
        (
            lambda d: [
                row.update(date="2020-01-01")
                for arrays in d["tables"].values()
                for rows in arrays.values()
                for row in rows
            ],
            "has facts only up to 2020-01-01, but ltocompat's own facts go up to",
        ),
    ],
)
def test_what_does_not_fit_is_told_in_a_sentence(
    change: Callable[[dict[str, Any]], object], said: str, tmp_path: Path, document: dict[str, Any]
) -> None:
    change(document)
    with pytest.raises(UsageError, match="LTOCOMPAT_FACTS: ") as caught:
        exchange.read_tables(written(tmp_path, document))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@given(data=st.binary(max_size=60))
def test_any_bytes_are_told(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("facts") / "facts.json"
    path.write_bytes(data)
    with pytest.raises(UsageError, match="is not a facts document"):
        exchange.read_tables(str(path))


def test_a_missing_document_is_wrong_usage(tmp_path: Path) -> None:
    done = ltocompat(str(tmp_path / "gone.json"), "targets", "hopper")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ltocompat: LTOCOMPAT_FACTS: ")
    assert len(done.stderr.splitlines()) == 1
    done = ltocompat(str(tmp_path / "gone.json"), "targets", "--format", "json")
    assert (done.returncode, json.loads(done.stdout)["error"]["kind"]) == (2, "usage")


def test_the_newest_day_is_that_of_the_newest_row() -> None:
    row = {"date": dt.date(2026, 1, 2)}
    assert exchange.newest_date({"a": {"b": [row, {"date": "2025-12-31"}]}}) == "2026-01-02"
