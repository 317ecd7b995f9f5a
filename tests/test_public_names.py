from __future__ import annotations

import ast
import collections.abc
import functools
import inspect
import re
import subprocess
import sys
import textwrap
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest
from every_case import every

import ltocompat
from ltocompat.commands import options
from ltocompat.commands.deployment_target import TargetLike

STUB = Path(ltocompat.__file__).with_suffix(".pyi").read_text("utf-8")
STUBS = [
    node
    for node in ast.parse(STUB).body
    if isinstance(node, ast.FunctionDef) and not node.decorator_list
]
VERBS = (
    "audit",
    "check",
    "diff",
    "env",
    "explain",
    "extract",
    "inspect",
    "link",
    "producer",
    "matrix",
    "read",
    "require",
    "selftest",
    "to_json",
    "weigh",
)


@every("name", dir(ltocompat))
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(ltocompat, name) is not None


def test_no_module_hides_a_verb() -> None:
    """A module of the same name would stand in its place as soon as anyone imports it."""
    code = (
        f"import sys, ltocompat, ltocompat.cli\nfor verb in {VERBS}:\n"
        "    assert callable(getattr(ltocompat, verb))\n"
        "    assert f'ltocompat.{verb}' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def named_in(annotation: object) -> Iterator[type]:
    """Our own classes that an annotation names, however deep."""
    for argument in typing.get_args(annotation):
        yield from named_in(argument)
    cls = typing.get_origin(annotation) or annotation
    if isinstance(cls, type) and cls.__module__.startswith("ltocompat."):
        yield cls


def in_stub(name: str) -> list[object]:
    """The annotations of a function that is made of options."""
    known = {**vars(collections.abc), **vars(typing), **vars(options)}
    known |= {each: getattr(ltocompat, each) for each in dir(ltocompat)}
    known["TargetLike"] = TargetLike
    found = [node for node in STUBS if node.name == name]
    arguments = [each for node in found for each in ast.walk(node) if isinstance(each, ast.arg)]
    texts = [each.annotation for each in arguments] + [node.returns for node in found]
    return [eval(ast.unparse(text), known) for text in texts if text]  # noqa: S307 - ours


def annotations_of(value: object) -> Iterator[object]:
    """What a public function says of its parameters, a class of its fields and its methods."""
    if inspect.isfunction(value):
        yield from (in_stub(value.__name__) or typing.get_type_hints(value).values())
    # A protocol is something to pass on, not to look into; so is a deployment target.
    elif isinstance(value, type) and not (
        value is ltocompat.DeploymentTarget or getattr(value, "_is_protocol", False)
    ):
        yield from typing.get_type_hints(value).values()
        for name, member in vars(value).items():
            function = member.fget if isinstance(member, property) else member
            function = getattr(function, "__func__", function)
            if not name.startswith("_") and inspect.isfunction(function):
                yield from typing.get_type_hints(function).values()


@functools.cache
def reachable() -> frozenset[type]:
    """Every class of ours that a caller meets when it follows the public names."""
    todo = [getattr(ltocompat, name) for name in dir(ltocompat)]
    seen: set[type] = set()
    while todo:
        for annotation in annotations_of(todo.pop()):
            new = set(named_in(annotation)) - seen
            seen |= new
            todo += new
    return frozenset(seen)


def test_every_type_that_a_caller_meets_is_public() -> None:
    assert {cls.__name__ for cls in reachable()} - set(dir(ltocompat)) == set()


@pytest.mark.slow
def test_an_installed_ltocompat_has_types(tmp_path: Path) -> None:
    """``py.typed`` is in the package, and a caller's mistake is an error to mypy."""
    script = tmp_path / "caller.py"
    script.write_text(
        textwrap.dedent(
            """
            import ltocompat

            for result in ltocompat.check("a.fatbin", ["driver=580.65.06,gpu=h100"]):
                reveal_type(result)
                result.verdickt
            """
        )
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(script)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 'Revealed type is "ltocompat.model.verdict.Result"' in done.stdout
    assert '"Result" has no attribute "verdickt"' in done.stdout


def test_every_public_name_stands_on_the_page_of_the_interface() -> None:
    page = (Path(__file__).parent.parent / "docs" / "reference" / "python-api.md").read_text(
        "utf-8"
    )
    assert {name for name in dir(ltocompat) if not name.startswith("_")} - {
        *re.findall(r"\w+", page)
    } == set()
