"""The answers of the site's own page, which are those of the command."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_explain import DISGUISED, DISGUISES, TEXTS, UNRELATED

from ltocompat.commands.explain import explain
from ltocompat.model.errors import Missing
from ltocompat.rules.prose import rule_ids

DOCS = Path(__file__).parents[1] / "docs"
NODE = shutil.which("node")


def answers_of_the_site(texts: list[str], folder: Path) -> list[list[dict[str, Any]]]:
    sys.path.insert(0, str(DOCS / "extension"))
    explain_tables = importlib.import_module("explain_tables").explain_tables
    tables, asked = folder / "tables.json", folder / "texts.json"
    tables.write_text(json.dumps(explain_tables()), "utf-8")
    asked.write_text(json.dumps(texts), "utf-8")
    script = DOCS / "_static" / "explain.js"
    command = [str(NODE), str(Path(__file__).parent / "site_explain.js"), script, tables, asked]
    answered = subprocess.run(list(map(str, command)), capture_output=True, check=True)
    found: list[list[dict[str, Any]]] = json.loads(answered.stdout)
    return found


def answers_of_the_command(text: str) -> list[dict[str, Any]]:
    try:
        found = explain(text)
    except Missing:
        return []
    return [
        {"rule": e.id, "line": e.line, "cause": e.cause, "fix": e.fix, "check": e.check}
        for e in found
        if e.cause is not None
    ]


def differences(texts: list[str], folder: Path) -> list[tuple[str, Any, Any]]:
    known = {*rule_ids()}
    texts = [text for text in texts if text.strip() and text.strip().upper() not in known]
    pairs = zip(texts, answers_of_the_site(texts, folder), strict=True)
    found = []
    for text, site in pairs:
        said = [
            {key: row.get(key) for key in ("rule", "line", "cause", "fix", "check")} for row in site
        ]
        if said != (command := answers_of_the_command(text)):
            found.append((text, said, command))
    return found


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_site_says_of_a_text_what_the_command_says(tmp_path: Path) -> None:
    texts = [*TEXTS, *(row["text"] for row in UNRELATED)]
    assert differences(texts[::6], tmp_path) == []


@pytest.mark.nightly
@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("name", ["as it is", *DISGUISES])
def test_the_site_says_the_same_in_any_disguise(name: str, tmp_path: Path) -> None:
    disguise = DISGUISES.get(name, str)
    texts = [*TEXTS, *(row["text"] for row in UNRELATED)] if name == "as it is" else DISGUISED
    assert differences([disguise(text) for text in texts], tmp_path) == []


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_site_drops_what_a_text_shows_done_as_the_command_does(tmp_path: Path) -> None:
    fixes = {
        text: (answers_of_the_command(text) or [{"fix": ""}])[0]["fix"]
        for text in filter(None, TEXTS[::9])
    }
    assert differences([f"{text}\n$ {fix}" for text, fix in fixes.items()], tmp_path) == []
