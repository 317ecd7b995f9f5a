"""Texts that users of the command line, of Python and of JSON read, with where each stands."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click

import ltocompat
from ltocompat.cli import VERBS, verb_command

PACKAGE = Path(inspect.getfile(ltocompat)).parent
# A field, a parameter or an exception of a docstring, whose name is no word of its sentence.
_ENTRY = re.compile(r"^ {4}(?:\*?[\w.]+: )?(?=\S)", re.MULTILINE)
_SECTION = re.compile(r"^(?:Args|Attributes|Raises|Returns|Yields):$", re.MULTILINE)
_EXAMPLE = re.compile(r"^ *>>>.*(?:\n.+)*", re.MULTILINE)
_ERRORS = re.compile(r".*(?:Error|Input|Missing|Malformed|Failed|Impossible|Exceeded)")

Texts = Iterator[tuple[str, str]]


def docstring_texts() -> Texts:
    """Yield the paragraphs of the docstrings of all public names, their members and the package."""
    yield from _paragraphs("ltocompat", ltocompat.__doc__ or "")
    for name in dir(ltocompat):
        value = getattr(ltocompat, name)
        if not inspect.isroutine(value) and not isinstance(value, type):
            continue
        yield from _paragraphs(name, inspect.getdoc(value) or "")
        members = vars(value) if isinstance(value, type) else {}
        for key, member in members.items():
            if not key.startswith("_"):
                text = inspect.getdoc(member) or ""
                if text != inspect.getdoc(type(member)):
                    yield from _paragraphs(f"{name}.{key}", text)


def _paragraphs(where: str, text: str) -> Texts:
    text = _ENTRY.sub("\n", _SECTION.sub("\n", _EXAMPLE.sub("", text)))
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*[-*] )", text):
        yield where, " ".join(paragraph.split())


def stub_texts() -> Texts:
    """Yield the comments and docstrings of the stub of types."""
    text = (PACKAGE / "__init__.pyi").read_text("utf-8")
    for comment in re.findall(r"(?:^ *# .*\n)+", text, re.MULTILINE):
        yield "the stub", " ".join(re.sub(r"^ *#", "", comment, flags=re.MULTILINE).split())
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _paragraphs("the stub", inspect.cleandoc(node.value))


def schema_texts() -> Texts:
    """Yield the titles and descriptions of the published JSON Schemas."""
    for path in sorted((PACKAGE / "report" / "schemas").glob("*.json")):
        for text in _described(json.loads(path.read_text("utf-8"))):
            yield path.name, text


def _described(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (
            text for text in map(value.get, ("title", "description")) if isinstance(text, str)
        )
        for inner in value.values():
            yield from _described(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _described(inner)


def help_texts() -> Texts:
    """Yield the help of every verb, with all of its arguments and options."""
    for name in VERBS:
        yield from _helps(verb_command(name), name)


def _helps(command: click.Command, name: str) -> Texts:
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(command.help or "")):
        yield name, " ".join(paragraph.split())
    for param in command.params:
        text = getattr(param, "help", None) or getattr(param, "line", None)
        yield f"{name} {param.opts[0]}", str(text or "")
    if isinstance(command, click.Group):
        for key, inner in command.commands.items():
            yield from _helps(inner, f"{name} {key}")


def error_texts() -> Texts:
    """Yield the messages that the code raises as one string; a value counts as a word."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            where = f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', 0)}"
            call = node.exc if isinstance(node, ast.Raise) else None
            if isinstance(call, ast.Call) and _ERRORS.fullmatch(ast.unparse(call.func)):
                yield from ((where, text) for text in _strings(call))
            if isinstance(node, ast.FunctionDef):
                yield from ((where, text) for text in _restatements(node))


def _restatements(function: ast.FunctionDef) -> Iterator[str]:
    """Yield what ``restated`` makes of errors, from literals or the names that a function gives."""
    inside = list(ast.walk(function))
    given: dict[str, ast.expr] = {}
    for node in inside:
        if isinstance(node, ast.Assign):
            given[ast.unparse(node.targets[0])] = node.value
    for node in inside:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "restated":
            words = {word.arg: word.value for word in node.keywords}
            parts = [node.args[1], words.get("advice", ast.Constant(""))]
            text, advice = (_string(given.get(ast.unparse(part), part)) for part in parts)
            yield f"{text or 'Value'}: Value{advice}"


def _strings(call: ast.Call) -> Iterator[str]:
    values = (*call.args, *(keyword.value for keyword in call.keywords))
    return filter(None, map(_string, values))


def _string(value: ast.expr) -> str:
    """Return a literal with a word for each of its values; empty for another expression."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    if isinstance(value, ast.JoinedStr):
        parts = value.values
        return "".join(str(p.value) if isinstance(p, ast.Constant) else "Value" for p in parts)
    return ""
