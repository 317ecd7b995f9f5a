"""What semantic versions are for: public names, flags, rules, as a committed snapshot has them.

A line that goes, or that changes other than by a parameter with a default, is a new major version
(docs/python.md, "What stays as it is"); ``--snapshot-update`` writes it. JSON records have their
schemas, which ``test_schemas.py`` holds.
"""

from __future__ import annotations

import ast
import enum
import inspect
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from msgspec import NODEFAULT
from msgspec.structs import FieldInfo, fields
from syrupy.assertion import SnapshotAssertion

import ltocompat
from ltocompat.cli import VERBS, verb_command
from ltocompat.rules.prose import rule_ids

STUB = Path(inspect.getfile(ltocompat)).with_suffix(".pyi").read_text("utf-8")
TYPED = {
    node.name: f"({ast.unparse(node.args)}) -> {ast.unparse(node.returns or node)}"
    for node in ast.parse(STUB).body
    if isinstance(node, ast.FunctionDef)
}
"""Functions that are made of options: their types stand in the stub."""
SIMPLE = (str, int, bool, type(None))
ROOT = Path(__file__).parents[1]
CHANGELOG = ROOT / "docs" / "CHANGELOG.md"


def signature(function: Any) -> str:  # noqa: ANN401 - anything that is called
    found = inspect.signature(function)
    each = [
        parameter
        if parameter.default is parameter.empty or type(parameter.default) in SIMPLE
        else parameter.replace(default=...)
        for parameter in found.parameters.values()
    ]
    return str(found.replace(parameters=each)).replace("Ellipsis", "...")


def field_line(field: FieldInfo) -> str:
    required = field.default is NODEFAULT and field.default_factory is NODEFAULT
    return field.name if required else f"{field.name}=..."


def attributes(cls: type) -> Iterator[str]:
    """The fields, members, properties and methods that a class itself has."""
    if hasattr(cls, "__struct_fields__"):
        yield f"({', '.join(map(field_line, fields(cls)))})"
    for name, value in sorted(vars(cls).items()):
        if name.startswith("_") or name in getattr(cls, "__struct_fields__", ()):
            continue
        if isinstance(value, enum.Enum):
            yield f".{name} = {value.value!r}"
        elif callable(value) or isinstance(value, classmethod | staticmethod):
            yield f".{name}{signature(getattr(cls, name))}"
        elif not isinstance(value, str | int | tuple):
            yield f".{name}"


def public_names() -> Iterator[str]:
    for name in dir(ltocompat):
        value = getattr(ltocompat, name)
        if isinstance(value, type):
            bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
            yield f"class {name}({bases})"
            yield from (f"{name}{text}" for text in attributes(value))
        else:
            text = TYPED.get(name) or (signature(value) if inspect.isfunction(value) else "")
            yield f"{name}{text}"


def flags(command: click.Command, path: str) -> Iterator[str]:
    for parameter in command.params:
        yield f"{path} {' '.join(sorted(parameter.opts))}"
    for name, inner in getattr(command, "commands", {}).items():
        yield from flags(inner, f"{path} {name}")


def test_the_public_interface_is_as_it_was_committed(snapshot: SnapshotAssertion) -> None:
    assert "\n".join(public_names()) == snapshot(name="names")
    every = (line for verb in VERBS for line in flags(verb_command(verb), verb))
    assert "\n".join(sorted(every)) == snapshot(name="flags")
    assert "\n".join(sorted(rule_ids())) == snapshot(name="rules")


def broken(before: str, now: str) -> list[str]:
    """Lines of a release's snapshot that went, or changed other than by a new default."""

    def parted(snapshot: str) -> dict[str, list[str]]:
        lines = (line.strip().partition("(") for line in snapshot.splitlines())
        return {name: rest.removesuffix(")").split(", ") for name, _, rest in lines}

    there = parted(now)
    return [
        name
        for name, parameters in parted(before).items()
        if name not in there
        or not set(parameters) <= set(there[name])
        or any("=" not in each for each in there[name] if each not in parameters)
    ]


def test_a_break_is_a_name_that_goes_or_takes_something_else() -> None:
    before = "check(paths, *, route=None)\nMaker\nneeds(data)\nserves(path, archs)\ncheck --route"
    now = "check(paths, *, route=None, floors=...)\nneeds(data, arch)\nserves(path)\nlink --route"
    assert broken(before, now) == ["Maker", "needs", "serves", "check --route"]


def git(*words: str) -> str:
    command = ["git", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_what_the_last_release_had_is_there_or_the_changelog_names_it() -> None:
    """Before the first tag, and where there is no git, nothing was released."""
    place = "tests/__snapshots__/test_public_api.ambr"
    for tag in git("tag", "--list", "v[0-9]*", "--sort=-v:refname", "--merged").split()[:1]:
        lost = broken(git("show", f"{tag}:{place}"), (ROOT / place).read_text("utf-8"))
        major = int(ltocompat.__version__.partition(".")[0])
        told = CHANGELOG.read_text("utf-8")
        if not 0 < major == int(tag[1:].partition(".")[0]):  # a new major, or before 1.0
            lost = [name for name in lost if f"`{name.split()[-1]}" not in told]
        assert not lost, tag
