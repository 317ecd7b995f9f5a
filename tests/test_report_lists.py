"""CSV and JSON Lines of verbs whose answer is a list have the values of their JSON."""
# ruff: noqa: ANN401 - JSON holds anything

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from samples import FOLDER

from ltocompat.cli import run

Captured = pytest.CaptureFixture[str]
SEVERAL_MAKERS = "ltoir/nvjitlink-13.5-of-12.4+13.0-lto_80.ltoir"
NAMES = ("objects/libsaxpy.so", "ptx/nvrtc-13.5-compute_80.ptx", SEVERAL_MAKERS)
PATHS = [str(FOLDER / name) for name in NAMES]
VERBS = {
    "inspect": ["inspect", *PATHS, "--kernels", "--hash"],
    "require": ["require", *PATHS],
    "matrix": ["matrix", *PATHS],
    "matrix --deploy-target": ["matrix", *PATHS, "--deploy-target", "driver=550,gpu=h100"],
    "targets": ["targets"],
}


def maker_text(tool: Any, role: str, version: Any, releases: list[str], **_: Any) -> str:
    """``ptxas 13.0.88``, ``linker 13.4``; a compiler without a name by its release alone."""
    name = tool or (role if role != "compiler" else "")
    return f"{name} {version or '{' + ', '.join(releases) + '}'}".strip()


def images(document: Any) -> Iterator[dict[str, Any]]:
    for artifact in document["artifacts"]:
        for module in artifact["modules"]:
            for image in module["images"]:
                ltoir, cubin = image["ltoir"] or {}, image["cubin"] or {}
                yield {
                    "path": artifact["path"],
                    "registered": module["registered"],
                    **image,
                    **image["needs"],
                    "ltoir_container": ltoir.get("container"),
                    "nvvm_ir": ltoir.get("nvvm_ir"),
                    "generation": cubin.get("generation"),
                    "made_by": [maker_text(**maker) for maker in image["made_by"]],
                }


def services(document: Any) -> Iterator[dict[str, Any]]:
    for artifact in document["artifacts"]:
        for service in artifact["services"]:
            yield {"path": artifact["path"], **service}


def cells(document: Any) -> Iterator[dict[str, Any]]:
    for grid in document["grids"]:
        for row in grid["cells"]:
            for result in map(document["results"].__getitem__, row):
                rules = [finding["rule"] for finding in result["findings"]]
                named = {"rules": rules, "distribution": result["distribution"] or ""}
                yield {"what": grid["what"], **result["coverage"], **result, **named}


LISTED: dict[str, Callable[[Any], Iterator[dict[str, Any]]]] = {
    "inspect": images,
    "require": services,
    "matrix": cells,
    "matrix --deploy-target": cells,
    "targets": lambda document: iter(document["words"]),
}


def as_csv(value: Any) -> str:
    """A value of JSON as a cell: nothing, true and false, and several texts in one."""
    match value:
        case None:
            return ""
        case bool():
            return json.dumps(value)
        case list():
            return "; ".join(map(str, value))
    return str(value)


def text_of(verb: str, form: str, output: Captured) -> str:
    run([*VERBS[verb], "--format", form])
    return output.readouterr().out


@pytest.mark.parametrize("verb", VERBS)
def test_a_row_has_the_values_of_json(verb: str, capsys: Captured) -> None:
    expected = [*LISTED[verb](json.loads(text_of(verb, "json", capsys)))]
    lines = [json.loads(line) for line in text_of(verb, "jsonl", capsys).splitlines()]
    table = [*csv.DictReader(io.StringIO(text_of(verb, "csv", capsys)))]
    assert len(expected) == len(lines) == len(table) > 0
    for values, line, row in zip(expected, lines, table, strict=True):
        assert [*row] == [*line, "error"]
        assert row == {name: as_csv(value) for name, value in line.items()} | {"error": ""}
        common = line.keys() & values.keys()
        assert {name: line[name] for name in common} == {name: values[name] for name in common}


def test_what_could_not_be_read_is_a_row(capsys: Captured) -> None:
    assert run(["inspect", PATHS[1], "no.so", "--format", "csv"]) == 3
    *_, last = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert last["error"].startswith("'no.so' can't be opened")
    assert run(["inspect", PATHS[1], "no.so", "--format", "jsonl"]) == 3
    *_, line = capsys.readouterr().out.splitlines()
    assert json.loads(line)["error"]["kind"] == "unreadable"
