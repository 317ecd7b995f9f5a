"""The published JSON Schemas: made from the types that write JSON, and shown by ``schema``."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files

import pytest
from every_case import every

from ltocompat.cli import run
from ltocompat.report.schema import DOCUMENTS, schema

PUBLISHED = files("ltocompat.report") / "schemas"


@every("name", DOCUMENTS)
def test_the_published_schema_is_the_one_of_the_types(name: str) -> None:
    file = f"{name}-v1.json"
    hint = f"ltocompat schema {name} > ltocompat/report/schemas/{file}"
    assert (PUBLISHED / file).read_text("utf-8") == json.dumps(schema(name), indent=2) + "\n", hint


def test_every_published_schema_belongs_to_a_document() -> None:
    assert {path.name for path in PUBLISHED.iterdir()} == {f"{name}-v1.json" for name in DOCUMENTS}


def test_a_schema_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "check"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["$id"] == "ltocompat/check/v1"
    assert value["$defs"]["Result"]["required"][:3] == ["path", "target", "gpu"]


def test_an_unknown_verb_ends_with_a_sentence_that_names_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["schema", "chekc"]) == 2
    message = capsys.readouterr().err
    assert "'chekc'" in message
    assert "selftest" in message


def test_only_json_needs_what_writes_json() -> None:
    lines = [["--help"], ["explain", "PTX-01"], ["inspect", "README.md"], ["require", "x"]]
    code = (
        "import sys; from ltocompat.cli import run\n"
        f"print([run(line) for line in {lines}])\n"
        "sys.exit('ltocompat.model.records_v1' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 3]"
    assert done.returncode == 0
